// What Windows calls console events. It tells of them on a thread of its own.
#include "base/signals.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <windows.h>

namespace lamina {
namespace {

void (*handler_of_signals)(int) = nullptr;

BOOL WINAPI handle(DWORD event) {
    const bool from_keyboard = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
    handler_of_signals(from_keyboard ? SIGINT : SIGTERM);
    if (!from_keyboard) Sleep(INFINITE); // the process ends when this returns; the system waits some seconds
    return TRUE;
}

} // namespace

void watch_signals(void (*handler)(int signal)) {
    handler_of_signals = handler;
    SetConsoleCtrlHandler(handle, TRUE);
}

void end_now(int status) {
    TerminateProcess(GetCurrentProcess(), static_cast<UINT>(status));
    std::abort(); // not reached
}

void end_after(unsigned seconds, int status) {
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::seconds(seconds));
        end_now(status);
    }).detach();
}

} // namespace lamina
