#include "base/own_stack.hpp"

#include "platform/windows/error.hpp"

#include <lamina/error.hpp>

#include <exception>
#include <string>

#include <process.h>

namespace lamina {
namespace {

struct Call {
    const std::function<void()> &function;
    std::exception_ptr thrown;
};

unsigned __stdcall run(void *given) {
    auto &call = *static_cast<Call *>(given);
    try {
        call.function();
    } catch (...) {
        call.thrown = std::current_exception();
    }
    return 0;
}

} // namespace

void on_own_stack(size_t bytes, const std::function<void()> &function) {
    Call call{function, nullptr};
    const auto thread = reinterpret_cast<HANDLE>(
        _beginthreadex(nullptr, static_cast<unsigned>(bytes), run, &call, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr));
    if (thread == nullptr) throw Error(ErrorCode::memory, "no room for a stack of " + std::to_string(bytes) + " bytes");
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    if (call.thrown) std::rethrow_exception(call.thrown);
}

} // namespace lamina
