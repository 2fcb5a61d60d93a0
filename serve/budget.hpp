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

    // First come, first served, among those that need little, an eighth at most, and among the others. These have three
    // quarters at most together, so the former are not kept out; one that needs more than that has it beside no other
    // of them. Who needs nothing does not wait. Had for as long as a copy of the result exists. `waiting` is called at
    // least ten times a second meanwhile; what it throws ends that.
    [[nodiscard]] std::shared_ptr<void> take(size_t amount, const std::function<void()> &waiting) {
        const auto out = std::make_shared<Share>(*this);
        if (amount == 0) return out;
        const size_t kind = amount > most_ / 8 ? 1 : 0, limit = kind == 1 ? most_of_large() : most_;
        amount = std::min(amount, limit);
        const auto fits = [&] { return taken_[kind] + amount <= limit && taken_[0] + taken_[1] + amount <= most_; };
        std::unique_lock lock(mutex_);
        const Place place(queues_.at(kind));
        while (!place.is_first() || !fits()) {
            changed_.wait_for(lock, std::chrono::milliseconds(100));
            waiting();
        }
        taken_.at(kind) += amount;
        out->kind = kind, out->amount = amount;
        changed_.notify_all();
        return out;
    }

  private:
    using Queue = std::list<int>;
    class Place { // at the end of a queue
      public:
        explicit Place(Queue &queue) : queue_(queue), at_(queue.insert(queue.end(), 0)) {}
        Place(const Place &) = delete;
        Place &operator=(const Place &) = delete;
        ~Place() { queue_.erase(at_); }
        [[nodiscard]] bool is_first() const { return at_ == queue_.begin(); }

      private:
        Queue &queue_;
        Queue::iterator at_;
    };
    struct Share {
        explicit Share(Budget &of) : budget(of) {}
        Share(const Share &) = delete;
        Share &operator=(const Share &) = delete;
        ~Share() {
            if (amount == 0) return;
            const std::scoped_lock lock(budget.mutex_);
            budget.taken_.at(kind) -= amount;
            budget.changed_.notify_all();
        }
        Budget &budget;
        size_t kind = 0, amount = 0;
    };
    [[nodiscard]] size_t most_of_large() const { return most_ - most_ / 4; }

    const size_t most_;
    std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    std::array<Queue, 2> queues_;   // of those who need little, and of others
    std::array<size_t, 2> taken_{}; // by them
};

} // namespace lamina::serve
