// How many requests may be inside, and whether new ones may come in.
#pragma once

#include "refusal.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

namespace lamina::serve {

class Gate {
  public:
    explicit Gate(size_t most) : most_(most) {}

    // Inside for as long as a copy of the result exists. Throws Refusal: 503 when closed, 429 when full.
    [[nodiscard]] std::shared_ptr<void> enter() {
        const std::scoped_lock lock(mutex_);
        expect_open();
        ++inside_;
        return {nullptr, [this](void *) {
                    const std::scoped_lock leaving(mutex_);
                    if (--inside_ == 0) empty_.notify_all();
                }};
    }

    // Throws what enter() would throw now.
    void expect_place() const {
        const std::scoped_lock lock(mutex_);
        expect_open();
    }

    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
    }
    void wait_until_empty() {
        std::unique_lock lock(mutex_);
        empty_.wait(lock, [this] { return inside_ == 0; });
    }
    [[nodiscard]] bool closed() const {
        const std::scoped_lock lock(mutex_);
        return closed_;
    }
    [[nodiscard]] size_t inside() const {
        const std::scoped_lock lock(mutex_);
        return inside_;
    }

  private:
    void expect_open() const {
        if (closed_) throw Refusal(503, "the server is ending: it finishes what it has begun, and takes nothing new");
        if (inside_ == most_)
            throw Refusal(429, "too many requests: " + std::to_string(most_) +
                                   " wait or run (the server's --queue); try again later");
    }

    const size_t most_;
    mutable std::mutex mutex_; // guards all below
    std::condition_variable empty_;
    size_t inside_ = 0;
    bool closed_ = false;
};

} // namespace lamina::serve
