#include "threads.hpp"

#include <cblas.h>

#include <hwy/cache_control.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

// How long a thread watches for something before it sleeps. A thread that sleeps takes about as long to wake as a small
// product takes, and decoding is made of small products.
constexpr std::chrono::microseconds patience{100};

// Parts of a task for which sleeping threads are woken. With fewer, the caller is done before they are awake.
constexpr int64_t worth_waking = 16;

// Returns early once done() is true.
template <class F> void watch(F &&done) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < until)
        for (int i = 0; i < 16 && !done(); ++i) hwy::Pause();
}

// A task that all threads take parts of until none is left.
struct Work {
    const std::function<void(int64_t)> *part;
    int64_t parts;
    std::atomic<int64_t> next = 0;

    void take() {
        for (int64_t i = next++; i < parts; i = next++) (*part)(i);
    }
};

class Helpers {
  public:
    explicit Helpers(int count) {
        for (int i = 0; i < count; ++i) threads_.emplace_back([this] { serve(); });
    }
    Helpers(const Helpers &) = delete;
    Helpers &operator=(const Helpers &) = delete;
    ~Helpers() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
            ++round_;
        }
        changed_.notify_all();
        for (std::thread &thread : threads_) thread.join();
    }

    void run(Work &work) {
        const std::unique_lock alone(caller_, std::try_to_lock);
        if (!alone.owns_lock()) return work.take(); // another session is using the helpers
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            work_ = &work, ++round_;
            awake_ = true;
            wake = sleeping_ != 0 && work.parts >= worth_waking;
        }
        if (wake) changed_.notify_all();
        work.take();
        {
            const std::lock_guard lock(mutex_);
            work_ = nullptr; // no helper can start on it from now on
        }
        const auto finished = [&] { return working_ == 0; };
        watch(finished);
        if (finished()) return;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, finished);
    }

    void let_sleep() { awake_ = false; }

  private:
    void serve() {
        uint64_t seen = 0;
        const auto called = [&] { return round_ != seen; };
        while (true) {
            watch([&] { return called() || !awake_; });
            std::unique_lock lock(mutex_);
            ++sleeping_;
            changed_.wait(lock, called);
            --sleeping_;
            if (ending_) return;
            seen = round_;
            if (work_ == nullptr) continue; // already finished
            Work &work = *work_;
            ++working_;
            lock.unlock();
            work.take();
            lock.lock();
            if (--working_ == 0) changed_.notify_all();
        }
    }

    std::mutex caller_, mutex_; // mutex_ guards changes to the members below
    std::condition_variable changed_;
    Work *work_ = nullptr;
    std::atomic<uint64_t> round_ = 0; // counts the tasks so far
    std::atomic<int> working_ = 0;    // helpers that use the work
    std::atomic<bool> awake_ = true;  // whether helpers watch for the next task before they sleep
    int sleeping_ = 0;                // helpers that wait to be woken
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

Helpers &helpers() {
    static Helpers all(openblas_get_num_threads() - 1);
    return all;
}

} // namespace

void in_parallel(int64_t parts, const std::function<void(int64_t)> &part) {
    Work work{&part, parts};
    if (parts <= 1)
        work.take();
    else
        helpers().run(work);
}

void let_helpers_sleep() { helpers().let_sleep(); }

} // namespace lamina::plugin::cpu_fallback
