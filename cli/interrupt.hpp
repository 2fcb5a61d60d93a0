// Ctrl-C: the first one lets the command stop between two steps of its work, the second one ends it at once.
#pragma once

namespace lamina::cli {

struct Interrupted {}; // thrown through the command; main() turns it into exit code 130

void watch_interrupts();
[[nodiscard]] bool interrupted() noexcept;
inline void stop_if_interrupted() {
    if (interrupted()) throw Interrupted();
}

} // namespace lamina::cli
