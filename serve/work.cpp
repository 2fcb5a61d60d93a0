#include "work.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lamina::serve {
namespace {

thread_local const Work *computed = nullptr; // alone on this thread

struct Left {}; // nobody waits for what is computed

} // namespace

void stop_if_left() {
    if (computed != nullptr && computed->left()) throw Left();
}

ComputedAlone::ComputedAlone(const Work &work) { computed = &work; }
ComputedAlone::~ComputedAlone() { computed = nullptr; }

bool Work::wait(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [&] { return ended_ || !news_.text.empty(); });
}

bool Work::ended() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
}

Work::News Work::take_news() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(news_, {});
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

std::optional<Work::Clock::time_point> Work::began() const {
    const std::scoped_lock lock(mutex_);
    return began_;
}

void Work::add(News news) {
    const std::scoped_lock lock(mutex_);
    news_.text += news.text;
    std::ranges::move(news.scores, std::back_inserter(news_.scores));
    std::ranges::move(news.prompt_scores, std::back_inserter(news_.prompt_scores));
    if (news.text.empty()) return;
    if (!began_) began_ = Clock::now();
    changed_.notify_all();
}

void Work::end(std::exception_ptr why) {
    const std::shared_ptr<void> given_back = std::move(memory);
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    why_ = std::move(why);
    changed_.notify_all();
}

} // namespace lamina::serve
