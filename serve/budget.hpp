// Something of which there is only so much, such as memory: who needs some waits until it is there.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace lamina::serve {

class Budget {
  public:
    explicit Budget(size_t most) : most_(most) {}
    Budget(const Budget &) = delete;
    Budget &operator=(const Budget &) = delete;
    ~Budget() = default;

    // First come, first served; but who needs much, more than an eighth, lets those pass who need little. More than
    // there is at all is had alone. Had for as long as a copy of the result exists. Null if `given_up`, which is asked
    // at least ten times a second, says so first.
    [[nodiscard]] std::shared_ptr<void> take(
        size_t amount, const std::function<bool()> &given_up = [] { return false; }) {
        std::unique_lock lock(mutex_);
        Queue &queue = queues_.at(amount > most_ / 8 ? 1 : 0);
        const auto place = queue.insert(queue.end(), amount);
        while (place != queue.begin() || !(taken_ == 0 || amount <= most_ - std::min(taken_, most_))) {
            changed_.wait_for(lock, std::chrono::milliseconds(100));
            if (!given_up()) continue;
            queue.erase(place);
            changed_.notify_all();
            return nullptr;
        }
        queue.erase(place);
        taken_ += amount;
        changed_.notify_all();
        return {this, [this, amount](void *) {
                    const std::scoped_lock giving_back(mutex_);
                    taken_ -= amount;
                    changed_.notify_all();
                }};
    }

  private:
    const size_t most_;
    std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    using Queue = std::list<size_t>; // amounts
    std::array<Queue, 2> queues_;    // of those who need little, and of others
    size_t taken_ = 0;
};

} // namespace lamina::serve
