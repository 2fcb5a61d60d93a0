#include "work.hpp"

#include <utility>

namespace lamina::serve {

bool Work::wait(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [&] { return ended_ || !pieces_.empty(); });
}

bool Work::ended() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
}

std::string Work::take_pieces() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(pieces_, "");
}

void Work::expect_success() const {
    const std::scoped_lock lock(mutex_);
    if (why_) std::rethrow_exception(why_);
}

void Work::leave() {
    const std::scoped_lock lock(mutex_);
    left_ = true;
}

bool Work::left() const {
    const std::scoped_lock lock(mutex_);
    return left_;
}

bool Work::begun() const {
    const std::scoped_lock lock(mutex_);
    return begun_;
}

void Work::add(std::string_view piece) {
    const std::scoped_lock lock(mutex_);
    pieces_ += piece;
    begun_ = true;
    changed_.notify_all();
}

void Work::end(std::exception_ptr why) {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    why_ = std::move(why);
    changed_.notify_all();
}

} // namespace lamina::serve
