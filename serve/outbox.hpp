// A body on its way from the thread that makes it, piece by piece, to the loop that sends it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace lamina::serve {

class Outbox {
  public:
    static constexpr size_t most = size_t{64} << 10; // bytes that wait; then the thread does

    // ---- For the thread ----

    enum class Added { first, more, left }; // first: the loop has to be told
    Added add(std::string_view piece) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return left_ || pending_.size() < most; });
        if (left_) return Added::left;
        const Added out = pending_.empty() ? Added::first : Added::more;
        pending_ += piece;
        return out;
    }
    void finish() {
        const std::scoped_lock lock(mutex_);
        finished_ = true;
    }
    [[nodiscard]] bool left() const {
        const std::scoped_lock lock(mutex_);
        return left_;
    }

    // ---- For the loop ----

    // What waits, and whether nothing will follow.
    std::pair<std::string, bool> take() {
        const std::scoped_lock lock(mutex_);
        changed_.notify_all();
        return {std::exchange(pending_, ""), finished_};
    }
    void leave() { // the client has left
        const std::scoped_lock lock(mutex_);
        left_ = true;
        changed_.notify_all();
    }

  private:
    mutable std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    std::string pending_;
    bool finished_ = false, left_ = false;
};

} // namespace lamina::serve
