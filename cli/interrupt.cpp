#include "interrupt.hpp"

#include "base/open_file.hpp"
#include "base/signals.hpp"
#include "base/standard_streams.hpp"

#include <atomic>
#include <csignal>
#include <span>
#include <string_view>

namespace lamina::cli {
namespace {

std::atomic<unsigned> patience_s = 2; // 0: endless
std::atomic<int> caught = 0;
std::atomic<bool> answering = false; // Ctrl-C is about an answer
bool terminal = false;               // whether somebody sees what is written on stderr

void end_soon(int signal) {
    if (caught.exchange(signal) != 0) end_now(128 + signal);
    if (signal == SIGINT && answering) return;
    if (patience_s != 0) end_after(patience_s, 128 + signal);
    constexpr std::string_view answer = "\r\033[Klamina: stopping; again to end at once\n";
    if (terminal) write_bytes(standard_error, std::as_bytes(std::span(answer)));
}

} // namespace

void watch_interrupts() {
    terminal = is_terminal(standard_error);
    watch_signals(end_soon);
}

int interrupted() noexcept { return caught; }

void stop_if_interrupted() {
    if (interrupted() != 0 && patience_s != 0) throw Interrupted();
}

void wait_for_work() { patience_s = 0; }

AnswerInterrupt::AnswerInterrupt() { answering = true; }

AnswerInterrupt::~AnswerInterrupt() {
    int ctrl_c = SIGINT;
    caught.compare_exchange_strong(ctrl_c, 0);
    answering = false; // then, so that one that comes between counts as at the prompt
}

} // namespace lamina::cli
