// Proves variants in the background: on a thread of its own, in a fifth of the time at most.
#pragma once

#include "admission/trials.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

namespace lamina::admission {

class Background {
  public:
    // `run` runs a trial, and throws if no further one should.
    explicit Background(std::function<void(const Trial &)> run);
    ~Background(); // ends the trial that is running; the others are left to later processes
    Background(const Background &) = delete;
    Background &operator=(const Background &) = delete;

    // Trials that were added before are not run again.
    void add(const std::vector<Trial> &trials);

  private:
    using Clock = std::chrono::steady_clock;
    void work(const std::stop_token &stop);
    [[nodiscard]] bool wait_for_turn(const std::stop_token &stop, Trial &next);

    const std::function<void(const Trial &)> run_;
    std::mutex mutex_; // guards the next three
    std::condition_variable_any changed_;
    std::set<Trial> known_;
    std::deque<Trial> waiting_;
    Clock::time_point next_turn_; // when the next trial may begin; of the thread, once it runs
    std::jthread thread_;         // started when there is work
};

} // namespace lamina::admission
