#include "threads.hpp"

#include <cblas.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

// A task that all threads take parts of until none is left.
struct Work {
    const std::function<void(int64_t)> *part;
    int64_t parts;
    std::atomic<int64_t> next = 0;
    int helpers = 0; // threads that still use it; guarded by the mutex

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
        }
        changed_.notify_all();
        for (std::thread &thread : threads_) thread.join();
    }

    void run(Work &work) {
        const std::unique_lock alone(caller_, std::try_to_lock);
        if (!alone.owns_lock()) return work.take(); // another session is using the helpers
        {
            const std::lock_guard lock(mutex_);
            work_ = &work, ++round_;
        }
        changed_.notify_all();
        work.take();
        std::unique_lock lock(mutex_);
        work_ = nullptr; // no helper can start on it from now on
        changed_.wait(lock, [&] { return work.helpers == 0; });
    }

  private:
    void serve() {
        uint64_t seen = 0;
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return ending_ || round_ != seen; });
            if (ending_) return;
            seen = round_;
            if (work_ == nullptr) continue; // already finished
            Work &work = *work_;
            ++work.helpers;
            lock.unlock();
            work.take();
            lock.lock();
            if (--work.helpers == 0) changed_.notify_all();
        }
    }

    std::mutex caller_, mutex_; // mutex_ guards the members below
    std::condition_variable changed_;
    Work *work_ = nullptr;
    uint64_t round_ = 0; // counts the tasks so far
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

} // namespace

void in_parallel(int64_t parts, const std::function<void(int64_t)> &part) {
    static Helpers helpers(openblas_get_num_threads() - 1);
    Work work{&part, parts};
    helpers.run(work);
}

} // namespace lamina::plugin::cpu_fallback
