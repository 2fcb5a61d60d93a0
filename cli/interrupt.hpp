// Ctrl-C, and what asks a process to end: the first one lets the command stop between two steps of its work, the second
// one ends it at once.
#pragma once

namespace lamina::cli {

struct Interrupted {}; // thrown through the command; main() turns it into an exit code: 128 + the signal, as shells do

void watch_interrupts();
[[nodiscard]] int interrupted() noexcept; // the signal; 0: none
inline void stop_if_interrupted() {
    if (interrupted() != 0) throw Interrupted();
}

} // namespace lamina::cli
