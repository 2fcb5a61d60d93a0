#include "admission/background.hpp"

#include "base/thread_end.hpp"

#include <cstdlib>
#include <system_error>

namespace lamina::admission {
namespace {

// A run of a second ends before the first trial begins, and need not wait for it.
constexpr std::chrono::seconds before_first{1};
// After a trial there is a pause of so many times its length, so that the work does not lack cores.
constexpr int pause = 4;

// At the end of a process, drivers destroy what they need to work. No trial may be running then.
std::mutex at_work;
bool exiting = false; // guarded by at_work

void end_trials() {
    if (threads_have_ended()) return;
    const std::lock_guard lock(at_work); // waits for the trial that is running
    exiting = true;
}

// Handlers and the destructors of statics run in the opposite order of their registration, so the last call counts. It
// comes too late for statics that a driver makes while a trial runs.
void stop_at_exit() { (void)std::atexit(end_trials); }

// The thread_local objects of the thread that calls exit() are destroyed before all statics.
const std::thread::id main_thread = std::this_thread::get_id();
void stop_at_end_of_main_thread() {
    if (std::this_thread::get_id() != main_thread) return;
    static const bool once = [] {
        at_thread_end([](void *) { end_trials(); }, nullptr);
        return true;
    }();
    (void)once;
}

} // namespace

Background::Background(std::function<void(const Trial &)> run) : run_(std::move(run)) { stop_at_end_of_main_thread(); }

Background::~Background() = default; // the thread is asked to stop, and joined

void Background::add(const std::vector<Trial> &trials) {
    const std::lock_guard lock(mutex_);
    for (const Trial &trial : trials)
        if (known_.insert(trial).second) waiting_.push_back(trial);
    changed_.notify_all();
    if (waiting_.empty() || thread_.joinable()) return;
    next_turn_ = Clock::now() + before_first;
    try {
        thread_ = std::jthread([this](const std::stop_token &stop) { work(stop); });
    } catch (const std::system_error &) { // a limit of threads or of memory: later processes prove it
    }
}

bool Background::wait_for_turn(const std::stop_token &stop, Trial &next) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return false;
    changed_.wait_until(lock, stop, next_turn_, [&] { return Clock::now() >= next_turn_; });
    if (stop.stop_requested()) return false;
    next = std::move(waiting_.front());
    waiting_.pop_front();
    return true;
}

void Background::work(const std::stop_token &stop) {
    stop_at_exit();
    try {
        for (Trial trial; wait_for_turn(stop, trial);) {
            const auto began = Clock::now();
            {
                const std::lock_guard lock(at_work);
                if (exiting) return;
                run_(trial);
            }
            stop_at_exit();
            const auto ended = Clock::now();
            next_turn_ = ended + pause * (ended - began);
        }
    } catch (...) { // the device is lost, or the user has heard of it: later processes continue
    }
}

} // namespace lamina::admission
