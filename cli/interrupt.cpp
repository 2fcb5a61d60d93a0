#include "interrupt.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <string_view>

#include <unistd.h>

namespace lamina::cli {
namespace {

volatile std::sig_atomic_t patience_s = 2; // 0: endless

volatile std::sig_atomic_t caught = 0;
bool terminal = false; // whether somebody sees what is written on stderr

// Handlers may call only what POSIX calls async-signal-safe.
void end_now(int) { _exit(128 + caught); }

void end_soon(int signal) {
    if (caught != 0) _exit(128 + signal);
    caught = signal;
    const int before = errno; // of the code that this interrupts
    struct sigaction action {};
    action.sa_handler = end_now;
    sigaction(SIGALRM, &action, nullptr);
    alarm(static_cast<unsigned>(patience_s));
    constexpr std::string_view answer = "\r\033[Klamina: stopping; again to end at once\n";
    if (terminal) (void)!write(STDERR_FILENO, answer.data(), answer.size());
    errno = before;
}

} // namespace

void watch_interrupts() {
    terminal = isatty(STDERR_FILENO) != 0;
    struct sigaction action {};
    action.sa_handler = end_soon; // without SA_RESTART, so that a blocked read returns
    sigaction(SIGINT, &action, nullptr);
    for (const int polite : {SIGTERM, SIGHUP}) {
        struct sigaction before {};
        sigaction(polite, nullptr, &before);
        if (before.sa_handler != SIG_IGN) sigaction(polite, &action, nullptr); // nohup ignores SIGHUP
    }
    std::signal(SIGPIPE, SIG_IGN); // a write then fails with EPIPE, which Output reports
    std::signal(SIGXFSZ, SIG_IGN); // a write beyond ulimit -f then fails with EFBIG
}

int interrupted() noexcept { return caught; }

void stop_if_interrupted() {
    if (interrupted() != 0 && patience_s != 0) throw Interrupted();
}

void wait_for_work() { patience_s = 0; }

} // namespace lamina::cli
