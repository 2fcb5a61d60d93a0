#include "call.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lamina::python {
namespace {

using Clock = std::chrono::steady_clock;

// Taking the lock may take milliseconds if another thread of Python computes, so it is not done for every token.
constexpr auto between_looks = std::chrono::milliseconds(100);

// What runtimes say on any thread, also on those that Python does not know, until a thread of Python logs it.
struct Messages {
    std::mutex mutex;
    std::vector<std::string> lines;
    std::string proving;
};
Messages &messages() {
    static Messages *const kept = new Messages; // never destroyed: threads of a runtime may outlive static objects
    return *kept;
}

// All threads that are in a call.
struct Calls {
    std::mutex mutex;
    std::condition_variable changed;
    size_t count = 0;
    std::optional<std::thread::id> ended_by;

    [[nodiscard]] bool are_ended() const { return ended_by && *ended_by != std::this_thread::get_id(); }
};
Calls *&all_calls() {
    static Calls *kept = new Calls; // never destroyed, as messages()
    return kept;
}

thread_local int calls = 0; // of Python that wait on this thread; a callback may make another
thread_local Clock::time_point looked;
thread_local const Stop *stop = nullptr; // of the calls on this thread

// `counts`: as one more call.
void end_if_program_ends(bool counts) {
    {
        Calls &all = *all_calls();
        const std::lock_guard lock(all.mutex);
        if (!all.are_ended()) {
            all.count += counts ? 1 : 0;
            return;
        }
    }
    const nb::gil_scoped_acquire locked;
    PyErr_SetNone(PyExc_SystemExit);
    throw nb::python_error();
}

void end_if_stopped() {
    if (stop == nullptr || !stop->is_set()) return;
    const nb::gil_scoped_acquire locked;
    PyErr_SetNone(nb::module_::import_("lamina._errors").attr("Stopped").ptr());
    throw nb::python_error();
}

// Looks for signals. A handler that throws, as that of Ctrl-C does, ends the call.
void look() {
    if (calls == 0) return;
    end_if_program_ends(false);
    end_if_stopped();
    if (Clock::now() - looked < between_looks) return;
    looked = Clock::now();
    const nb::gil_scoped_acquire locked;
    log_messages();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void proving(const std::string &what) {
    {
        const std::lock_guard lock(messages().mutex);
        messages().proving = what.empty() ? "" : "proving " + what;
    }
    look();
}

void notify(const std::string &line) {
    const std::lock_guard lock(messages().mutex);
    messages().lines.push_back(line);
}

} // namespace

Unlocked::Unlocked() {
    ++calls;
    looked = Clock::now();
}
Unlocked::~Unlocked() { --calls; }

Call::Call() { end_if_program_ends(true); }

Call::~Call() {
    Calls &all = *all_calls();
    const std::lock_guard lock(all.mutex);
    if (all.count != 0) --all.count; // it is 0 in a process that was forked within a call
    all.changed.notify_all();
}

void forget_calls() { all_calls() = new Calls; }

void end_calls() {
    Calls &all = *all_calls();
    const nb::gil_scoped_release released;
    std::unique_lock lock(all.mutex);
    all.ended_by = std::this_thread::get_id();
    for (const auto until = Clock::now() + std::chrono::seconds(10); all.count != 0 && Clock::now() < until;) {
        all.changed.wait_for(lock, between_looks);
        lock.unlock();
        {
            const nb::gil_scoped_acquire locked;
            if (PyErr_CheckSignals() != 0) throw nb::python_error(); // of Ctrl-C
        }
        lock.lock();
    }
}

nb::object stoppable(const Stop &by, const nb::callable &work) {
    struct Now {
        const Stop *before;
        explicit Now(const Stop *now) : before(std::exchange(stop, now)) {}
        Now(const Now &) = delete;
        Now &operator=(const Now &) = delete;
        ~Now() { stop = before; }
    } const now(&by);
    end_if_stopped();
    return work();
}

void log_messages() {
    std::vector<std::string> lines;
    std::string proving;
    {
        const std::lock_guard lock(messages().mutex);
        lines.swap(messages().lines);
        proving.swap(messages().proving);
    }
    if (lines.empty() && proving.empty()) return;
    const nb::object logger = nb::module_::import_("logging").attr("getLogger")("lamina");
    for (const std::string &line : lines) logger.attr("warning")("%s", line.c_str());
    if (!proving.empty()) logger.attr("info")("%s", proving.c_str());
}

RuntimeOptions runtime_options() {
    RuntimeOptions out;
    out.notify = notify;
    out.proving = proving;
    out.working = look;
    return out;
}

} // namespace lamina::python
