// How Python calls Lamina: without the interpreter lock, so that other threads of Python run meanwhile; and so that
// Ctrl-C ends the call.
#pragma once

#include <nanobind/nanobind.h>

#include <lamina/lamina.hpp>

#include <atomic>
#include <type_traits>

namespace lamina::python {

namespace nb = nanobind;

// The options of a runtime whose messages go to Python's logging.
[[nodiscard]] RuntimeOptions runtime_options();

// While one exists, this thread does not hold the interpreter lock.
class Unlocked {
  public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;

  private:
    nb::gil_scoped_release released_;
};

// One of those that end_calls() ends: from before the interpreter lock is released until after it is taken again.
// Raises SystemExit if the program is ending.
class Call {
  public:
    Call();
    ~Call();
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
};
// Before Python ends: SystemExit ends the calls of all other threads, and those that they make later. Returns when none
// is left, since a thread that then waits for the interpreter lock takes the process down with it; or after ten
// seconds, since a callback may wait for ever.
void end_calls();
void forget_calls(); // of the threads of the parent, in a process that was forked

// Ends calls from another thread, within a step of their work: those that stoppable() makes with it.
class Stop {
  public:
    void set() { is_set_ = true; }
    [[nodiscard]] bool is_set() const { return is_set_; }

  private:
    std::atomic<bool> is_set_ = false;
};
// Returns work(). Once `stop` is set, calls of Lamina in it raise lamina._errors.Stopped.
[[nodiscard]] nb::object stoppable(const Stop &stop, const nb::callable &work);

// Logs what the runtime has said, on this thread, which holds the lock.
void log_messages();

// Returns work(), done without the lock. Nothing in it may touch a Python object.
template <class Work> auto unlocked(const Work &work) {
    const Call counted;
    const auto call = [&] {
        const Unlocked now;
        return work();
    };
    try {
        if constexpr (std::is_void_v<decltype(work())>) {
            call();
            log_messages();
        } else {
            auto result = call();
            log_messages();
            return result;
        }
    } catch (...) {
        log_messages(); // which may say more about the error
        throw;
    }
}

} // namespace lamina::python
