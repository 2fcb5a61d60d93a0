// Handles Ctrl-C and other signals that end a process. The first one lets the command stop between two steps of its
// work. If the step takes longer than two seconds, or at a second signal, the process ends at once. Nothing is lost by
// that: files are complete or absent, and proofs are saved as they are found.
#pragma once

namespace lamina::cli {

struct Interrupted {}; // main() turns this exception into the exit status 128 + the signal, as shells do

void watch_interrupts();
[[nodiscard]] int interrupted() noexcept; // the signal, or 0
void stop_if_interrupted();
// From now on the first signal stops no work: the caller asks for interrupted(), and ends when its work is done.
void wait_for_work();

// While it lives, the first Ctrl-C ends no more than the answer that is being written: stop_if_interrupted() throws
// Interrupted, and when this ends, it is as if nothing had come. A second one ends the process.
class AnswerInterrupt {
  public:
    AnswerInterrupt();
    AnswerInterrupt(const AnswerInterrupt &) = delete;
    AnswerInterrupt &operator=(const AnswerInterrupt &) = delete;
    ~AnswerInterrupt();
};

} // namespace lamina::cli
