#include "interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace lamina::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

} // namespace

void watch_interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int signal) { caught = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND); // without SA_RESTART, so that a blocked read returns
    sigaction(SIGINT, &action, nullptr);
    for (const int polite : {SIGTERM, SIGHUP}) {
        struct sigaction before {};
        sigaction(polite, nullptr, &before);
        if (before.sa_handler != SIG_IGN) sigaction(polite, &action, nullptr); // nohup ignores SIGHUP
    }
    std::signal(SIGPIPE, SIG_IGN); // a write then fails with EPIPE, which Output reports
}

int interrupted() noexcept { return caught; }

} // namespace lamina::cli
