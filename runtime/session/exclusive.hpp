// Lets one thread at a time use a session.
#pragma once

#include <lamina/error.hpp>

#include <atomic>
#include <mutex>
#include <thread>

namespace lamina::detail {

// A mutex that refuses a thread which holds it already: a callback that uses the session it was called by would wait
// for itself forever.
class Exclusive {
  public:
    void lock() {
        if (owner_ == std::this_thread::get_id())
            throw Error(ErrorCode::usage, "a callback cannot use the session that called it: use another session");
        mutex_.lock();
        owner_ = std::this_thread::get_id();
    }
    void unlock() {
        owner_ = std::thread::id();
        mutex_.unlock();
    }

  private:
    std::mutex mutex_;
    std::atomic<std::thread::id> owner_{};
};

} // namespace lamina::detail
