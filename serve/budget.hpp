// Something of which there is only so much, such as memory: who needs some waits until it is there.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace lamina::serve {

class Budget {
  public:
    explicit Budget(size_t most) : most_(most) {}
    Budget(const Budget &) = delete;
    Budget &operator=(const Budget &) = delete;
    ~Budget() = default;

    // First come, first served. More than there is at all is had alone. Had for as long as a copy of the result exists.
    [[nodiscard]] std::shared_ptr<void> take(size_t amount) {
        std::unique_lock lock(mutex_);
        const uint64_t ticket = last_++;
        changed_.wait(lock,
                      [&] { return ticket == next_ && (taken_ == 0 || amount <= most_ - std::min(taken_, most_)); });
        ++next_;
        taken_ += amount;
        changed_.notify_all();
        return {nullptr, [this, amount](void *) {
                    const std::scoped_lock giving_back(mutex_);
                    taken_ -= amount;
                    changed_.notify_all();
                }};
    }

  private:
    const size_t most_;
    std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    uint64_t last_ = 0, next_ = 0; // tickets
    size_t taken_ = 0;
};

} // namespace lamina::serve
