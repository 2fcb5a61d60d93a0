// Threads that answer requests. They are started when they are needed first.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lamina::serve {

class Workers {
  public:
    explicit Workers(size_t most) : most_(most) {}
    Workers(const Workers &) = delete;
    Workers &operator=(const Workers &) = delete;
    // Does all jobs that it has, first.
    ~Workers() {
        {
            const std::scoped_lock lock(mutex_);
            ending_ = true;
            changed_.notify_all();
        }
        for (std::thread &each : threads_) each.join();
    }

    // `job` must not throw. Only one thread calls this.
    void add(std::function<void()> job) {
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(job));
        if (jobs_.size() > idle_ && threads_.size() < most_) start_thread();
        changed_.notify_one();
    }

  private:
    void start_thread() {
        try {
            threads_.emplace_back([this] { run(); });
        } catch (const std::system_error &) { // the system gives no more: those that there are do the work
            if (!threads_.empty()) return;
            jobs_.pop_back();
            throw;
        }
    }
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            ++idle_;
            changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
            --idle_;
            if (jobs_.empty()) return;
            std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            lock.unlock();
            job();
            job = nullptr;
            lock.lock();
        }
    }

    const size_t most_;
    std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    std::vector<std::thread> threads_;
    size_t idle_ = 0;
    bool ending_ = false;
};

} // namespace lamina::serve
