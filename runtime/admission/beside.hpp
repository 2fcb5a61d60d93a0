// Proves variants beside the work: on a thread of its own, for a small part of the time.
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

class Beside {
  public:
    // `run` runs a trial, and throws if no further one should.
    explicit Beside(std::function<void(const Trial &)> run);
    ~Beside(); // ends the trial that is running; the others are left to later processes
    Beside(const Beside &) = delete;
    Beside &operator=(const Beside &) = delete;

    // Trials that were added before are not run again.
    void add(const std::vector<Trial> &trials);

  private:
    using Clock = std::chrono::steady_clock;
    void work(const std::stop_token &stop);
    [[nodiscard]] bool wait_for_turn(const std::stop_token &stop, Trial &next);

    const std::function<void(const Trial &)> run_;
    std::mutex mutex_; // guards the next four
    std::condition_variable_any changed_;
    std::set<Trial> known_;
    std::deque<Trial> waiting_;
    Clock::time_point began_; // when there was work for the first time
    Clock::duration spent_{}, longest_;
    std::jthread thread_; // started when there is work
};

} // namespace lamina::admission
