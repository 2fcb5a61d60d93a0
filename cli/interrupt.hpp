// Handles Ctrl-C and other signals that end a process. The first one lets the command stop between two steps of its
// work, the second one ends it at once.
#pragma once

namespace lamina::cli {

struct Interrupted {}; // main() turns this exception into the exit status 128 + the signal, as shells do

void watch_interrupts();
[[nodiscard]] int interrupted() noexcept; // the signal, or 0
inline void stop_if_interrupted() {
    if (interrupted() != 0) throw Interrupted();
}

} // namespace lamina::cli
