#include "interrupt.hpp"

#include <csignal>

namespace lamina::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

} // namespace

void watch_interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int) { caught = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND); // and no SA_RESTART: a read from a terminal is left, too
    sigaction(SIGINT, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN); // a write then fails with EPIPE, which Output reports
}

bool interrupted() noexcept { return caught != 0; }

} // namespace lamina::cli
