// Handlers may call only what POSIX calls async-signal-safe.
#include "base/signals.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>

#include <unistd.h>

namespace lamina {
namespace {

void (*handler_of_signals)(int) = nullptr;
volatile std::sig_atomic_t late_status = 0;

void handle(int signal) {
    const int before = errno; // of the code that this interrupts
    handler_of_signals(signal);
    errno = before;
}

void end_late(int) { ::_exit(late_status); }

} // namespace

void watch_signals(void (*handler)(int signal)) {
    handler_of_signals = handler;
    struct sigaction action {};
    action.sa_handler = handle; // without SA_RESTART, so that a blocked read returns
    ::sigaction(SIGINT, &action, nullptr);
    for (const int polite : {SIGTERM, SIGHUP}) {
        struct sigaction before {};
        ::sigaction(polite, nullptr, &before);
        if (before.sa_handler != SIG_IGN) ::sigaction(polite, &action, nullptr); // nohup ignores SIGHUP
    }
    std::signal(SIGPIPE, SIG_IGN); // a write then fails with EPIPE
    std::signal(SIGXFSZ, SIG_IGN); // a write beyond ulimit -f then fails with EFBIG
}

void end_now(int status) { ::_exit(status); }

void end_after(unsigned seconds, int status) {
    late_status = status;
    struct sigaction action {};
    action.sa_handler = end_late;
    ::sigaction(SIGALRM, &action, nullptr);
    ::alarm(seconds);
}

} // namespace lamina
