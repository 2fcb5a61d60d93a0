// Signals that ask a process to end: Ctrl-C, and those of the system.
#pragma once

namespace lamina {

// Calls `handler` with the number of each such signal that is not ignored. It interrupts whatever runs, so it may only
// call the functions below, and write_bytes(). A blocked read returns. Writing to a closed pipe, or beyond a limit of
// file sizes, becomes an error.
void watch_signals(void (*handler)(int signal));
[[noreturn]] void end_now(int status);        // without destructors
void end_after(unsigned seconds, int status); // unless the process ends before

} // namespace lamina
