// Threads that keep several devices busy at the same time: one for each device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace lamina::split {

// The flows that use the same devices, in turns. What one of them still has on its way ends before another begins or
// waits, and its errors stay its own.
class Flow;
struct FlowTurns {
    void settle(); // until nothing is on its way; errors stay where they are

    std::mutex mutex;
    Flow *last = nullptr; // that used the devices: no other has anything on its way
};

// Runs that go from device to device. A device does its work in the order in which it comes. After an error no further
// work is done until the error has been thrown.
class Flow {
  public:
    using Work = std::function<void()>;

    explicit Flow(size_t devices, std::shared_ptr<FlowTurns> turns = std::make_shared<FlowTurns>());
    ~Flow(); // does no further work
    Flow(const Flow &) = delete;
    Flow &operator=(const Flow &) = delete;

    // A run begins, with work on its first device. Waits while `most` others are on their way. Throws what one of them
    // threw.
    void begin(size_t device, Work work, size_t most);
    // On a device's thread: the run goes on with work on another one.
    void go_on(size_t device, Work work);
    // On a device's thread: the run has ended. `report` is called by wait(), on its thread.
    void end(Work report);

    // Waits until no run is on its way, and throws what one of them threw. Reports are called in order.
    void wait();
    // Waits, forgets reports, and leaves errors to whoever comes next.
    void settle();

  private:
    struct Lane {
        std::deque<Work> waiting;
        std::condition_variable_any changed;
        std::jthread thread; // started when there is work
    };
    void add(size_t device, Work work);
    void work(const std::stop_token &stop, Lane &lane);
    void fail(std::exception_ptr error);
    void rethrow();
    void take_turn();
    void rest(); // until nothing is on its way
    friend FlowTurns;

    const std::shared_ptr<FlowTurns> turns_;
    std::mutex mutex_; // guards all below
    std::condition_variable ended_;
    size_t running_ = 0; // runs on their way
    std::exception_ptr error_;
    std::vector<Work> reports_;
    std::vector<Lane> lanes_; // last, so that threads end first
};

} // namespace lamina::split
