#include "admission/beside.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>

namespace lamina::admission {
namespace {

// A process spends at most this part of its time here, so that it does not keep the work from its cores.
constexpr int one_in = 5;
// What a trial takes at most, until one has taken longer. A run of a second ends before the first trial begins,
// and need not wait for it.
constexpr std::chrono::milliseconds usual{200};

// At the end of a process, drivers destroy what they need to work. No trial may be running then.
std::mutex at_work;
bool exiting = false; // guarded by at_work

void stop_at_exit() {
    // The last call counts, because handlers run in the opposite order of their registration.
    (void)std::atexit([] {
        const std::lock_guard lock(at_work);
        exiting = true;
    });
}

} // namespace

Beside::Beside(std::function<void(const Trial &)> run) : run_(std::move(run)), longest_(usual) {}

Beside::~Beside() = default; // the thread is asked to stop, and joined

void Beside::add(const std::vector<Trial> &trials) {
    const std::lock_guard lock(mutex_);
    for (const Trial &trial : trials)
        if (known_.insert(trial).second) waiting_.push_back(trial);
    changed_.notify_all();
    if (waiting_.empty() || thread_.joinable()) return;
    began_ = Clock::now();
    thread_ = std::jthread([this](const std::stop_token &stop) { work(stop); });
}

bool Beside::wait_for_turn(const std::stop_token &stop, Trial &next) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return false;
    const auto turn = began_ + one_in * (spent_ + longest_);
    changed_.wait_until(lock, stop, turn, [&] { return Clock::now() >= turn; });
    if (stop.stop_requested()) return false;
    next = std::move(waiting_.front());
    waiting_.pop_front();
    return true;
}

void Beside::work(const std::stop_token &stop) {
    try {
        for (Trial trial; wait_for_turn(stop, trial);) {
            const auto began = Clock::now();
            {
                const std::lock_guard lock(at_work);
                if (exiting) return;
                run_(trial);
            }
            stop_at_exit();
            const auto took = Clock::now() - began;
            spent_ += took;
            longest_ = std::max(longest_, took);
        }
    } catch (const std::exception &) { // the device is lost, or the user has heard of it: later processes continue
    }
}

} // namespace lamina::admission
