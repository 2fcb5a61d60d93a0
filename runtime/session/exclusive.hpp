// Lets one thread at a time use a session.
#pragma once

#include <lamina/error.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace lamina::detail {

// Who has waited longest is next. A thread which has it already is refused: a callback that uses the session it was
// called by would wait for itself forever.
class Exclusive {
  public:
    void lock() {
        if (owner_ == std::this_thread::get_id())
            throw Error(ErrorCode::usage, "a callback cannot use the session that called it: use another session");
        std::unique_lock lock(mutex_);
        const uint64_t ticket = last_++;
        changed_.wait(lock, [&] { return ticket == next_; });
        owner_ = std::this_thread::get_id();
    }
    void unlock() {
        owner_ = std::thread::id();
        const std::scoped_lock lock(mutex_);
        ++next_;
        changed_.notify_all();
    }

    // From now on, whoever has this turn may also take that one, as a session takes that of its draft. False if two
    // could wait for each other: so no turn is both the first and the second of such a pair. That stays so.
    [[nodiscard]] bool may_take(Exclusive &other) {
        static std::mutex pairs;
        const std::scoped_lock lock(pairs);
        if (this == &other || is_second_ || other.is_first_) return false;
        is_first_ = other.is_second_ = true;
        return true;
    }

  private:
    bool is_first_ = false, is_second_ = false;
    std::mutex mutex_; // guards the tickets
    std::condition_variable changed_;
    uint64_t last_ = 0, next_ = 0;
    std::atomic<std::thread::id> owner_{};
};

} // namespace lamina::detail
