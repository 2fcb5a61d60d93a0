#include "threads.hpp"

#include "base/processor.hpp"
#include "base/thread_end.hpp"

#include <lamina/plugin/plan.hpp> // ceil_div()

#include <hwy/cache_control.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

// How long a thread watches for something before it sleeps. A thread that sleeps takes about as long to wake as a small
// product takes, and decoding is made of small products.
constexpr std::chrono::microseconds patience{100};

// Multiplications for which sleeping threads are woken. With fewer, the caller is done before they are awake.
constexpr int64_t worth_waking = 16 * part_values;

// Returns early once done() is true.
template <class F> void watch(F &&done) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < until)
        for (int i = 0; i < 16 && !done(); ++i) hwy::Pause();
}

// Parts that follow each other, of which threads take the first that is left.
struct alignas(64) Share { // in a cache line of its own
    std::atomic<int64_t> next = 0;
    int64_t end = 0;
};

// A task that all threads take parts of until none is left.
struct Work {
    Callback<int64_t> part;
    int64_t parts;
    bool worth_waking; // threads that sleep
    std::span<Share> shares = {};
    std::atomic<bool> failed = false;
    std::exception_ptr error = nullptr; // the first

    void divide_among(std::span<Share> threads) {
        shares = threads.first(std::min(threads.size(), static_cast<size_t>(parts)));
        const auto count = static_cast<int64_t>(shares.size());
        int64_t i = 0;
        for (Share &share : shares) {
            share.next = parts * i / count;
            share.end = parts * ++i / count;
        }
    }

    // A thread begins with its own share, so that it reads memory in order. Then it helps with those of others.
    void take(size_t thread) {
        try {
            for (size_t i = 0; i < shares.size(); ++i) {
                Share &share = shares[(thread + i) % shares.size()];
                for (int64_t p = share.next++; p < share.end; p = share.next++) part(p);
            }
        } catch (...) {
            for (Share &share : shares) share.next = share.end;
            if (!failed.exchange(true)) error = std::current_exception();
        }
    }
    void do_alone() const {
        for (int64_t p = 0; p < parts; ++p) part(p);
    }
};

class Helpers {
  public:
    explicit Helpers(size_t count) : shares_(count + 1) {
        threads_.reserve(count);
        try {
            for (size_t i = 1; i <= count; ++i) threads_.emplace_back([this, i] { serve(i); });
        } catch (const std::system_error &) { // a limit of threads or of memory: fewer do, too
        }
    }
    Helpers(const Helpers &) = delete;
    Helpers &operator=(const Helpers &) = delete;
    ~Helpers() {
        if (threads_have_ended()) {
            for (std::thread &thread : threads_) thread.detach();
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
            ++round_;
        }
        changed_.notify_all();
        for (std::thread &thread : threads_) thread.join();
    }

    void run(Work work) {
        share(work);
        if (work.error) std::rethrow_exception(work.error);
    }

  private:
    void share(Work &work) {
        if (work.parts <= 1) return work.do_alone();
        const std::unique_lock alone(caller_, std::try_to_lock);
        if (!alone.owns_lock()) return work.do_alone(); // another session is using the helpers
        work.divide_among(shares_);
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            work_ = &work, ++round_;
            wake = sleeping_ != 0 && work.worth_waking;
        }
        if (wake) changed_.notify_all();
        work.take(0);
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

    void serve(size_t thread) {
        uint64_t seen = 0;
        const auto called = [&] { return round_ != seen; };
        while (true) {
            watch(called);
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
            work.take(thread);
            lock.lock();
            if (--working_ == 0) changed_.notify_all();
        }
    }

    std::mutex caller_, mutex_; // mutex_ guards changes to the members below
    std::condition_variable changed_;
    Work *work_ = nullptr;
    std::atomic<uint64_t> round_ = 0; // counts the tasks so far
    std::atomic<int> working_ = 0;    // helpers that use the work
    int sleeping_ = 0;                // helpers that wait to be woken
    bool ending_ = false;
    std::vector<Share> shares_; // of the caller, and of each helper
    std::vector<std::thread> threads_;
};

Helpers &helpers() {
    static Helpers all(static_cast<size_t>(thread_count() - 1));
    return all;
}

} // namespace

int thread_count() {
    static const int count = static_cast<int>(cores());
    return count;
}

void in_parallel(int64_t parts, Callback<int64_t> part, int64_t work) {
    helpers().run({part, parts, parts >= ceil_div(worth_waking, std::max<int64_t>(work, 1))});
}

void in_ranges(int64_t size, int64_t least, Callback<int64_t, int64_t> range) {
    // More ranges than threads, so that none waits long for one that was interrupted; all of about the same size.
    const int64_t ranges = std::min(ceil_div(size, least), 8 * static_cast<int64_t>(thread_count()));
    const auto part = [&](int64_t p) { range(p * size / ranges, (p + 1) * size / ranges); };
    helpers().run({part, ranges, true});
}

} // namespace lamina::plugin::cpu_fallback
