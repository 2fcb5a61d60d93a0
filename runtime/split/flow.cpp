#include "split/flow.hpp"

#include <utility>

namespace lamina::split {

Flow::Flow(size_t devices, std::shared_ptr<FlowTurns> turns) : turns_(std::move(turns)), lanes_(devices) {}

Flow::~Flow() {
    settle();
    const std::lock_guard lock(turns_->mutex);
    if (turns_->last == this) turns_->last = nullptr;
}

void Flow::take_turn() {
    const std::lock_guard lock(turns_->mutex);
    Flow *const other = std::exchange(turns_->last, this);
    if (other != nullptr && other != this) other->rest();
}

void Flow::rest() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return running_ == 0; });
}

void FlowTurns::settle() {
    const std::lock_guard lock(mutex);
    if (last != nullptr) last->rest();
}

void Flow::begin(size_t device, Work work, size_t most) {
    take_turn();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return running_ < most || error_ != nullptr; });
    if (error_ != nullptr) ended_.wait(lock, [&] { return running_ == 0; });
    rethrow();
    ++running_;
    add(device, std::move(work));
}

void Flow::go_on(size_t device, Work work) {
    const std::lock_guard lock(mutex_);
    add(device, std::move(work));
}

void Flow::end(Work report) {
    const std::lock_guard lock(mutex_);
    if (report) reports_.push_back(std::move(report));
    --running_;
    ended_.notify_all();
}

void Flow::wait() {
    take_turn();
    std::vector<Work> reports;
    {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [&] { return running_ == 0; });
        reports.swap(reports_);
        rethrow();
    }
    for (const Work &report : reports) report();
}

void Flow::settle() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return running_ == 0; });
    reports_.clear();
}

void Flow::rethrow() {
    if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void Flow::add(size_t device, Work work) {
    Lane &lane = lanes_[device];
    lane.waiting.push_back(std::move(work));
    if (!lane.thread.joinable())
        lane.thread = std::jthread([this, &lane](const std::stop_token &stop) { this->work(stop, lane); });
    lane.changed.notify_one();
}

void Flow::work(const std::stop_token &stop, Lane &lane) {
    std::unique_lock lock(mutex_);
    while (lane.changed.wait(lock, stop, [&] { return !lane.waiting.empty(); })) {
        const Work next = std::move(lane.waiting.front());
        lane.waiting.pop_front();
        if (error_ != nullptr) { // of another run
            --running_;
            ended_.notify_all();
            continue;
        }
        lock.unlock();
        try {
            next();
            lock.lock();
        } catch (...) {
            lock.lock();
            fail(std::current_exception());
        }
    }
}

void Flow::fail(std::exception_ptr error) {
    if (error_ == nullptr) error_ = std::move(error);
    --running_;
    ended_.notify_all();
}

} // namespace lamina::split
