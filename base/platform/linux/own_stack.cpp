#include "base/own_stack.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <climits>
#include <exception>
#include <string>
#include <system_error>

#include <pthread.h>

namespace lamina {
namespace {

struct Call {
    const std::function<void()> &function;
    std::exception_ptr thrown;
};

void *run(void *given) {
    auto &call = *static_cast<Call *>(given);
    try {
        call.function();
    } catch (...) {
        call.thrown = std::current_exception();
    }
    return nullptr;
}

} // namespace

void on_own_stack(size_t bytes, const std::function<void()> &function) {
    Call call{function, nullptr};
    pthread_attr_t attributes{};
    ::pthread_attr_init(&attributes);
    pthread_t thread{};
    // No stack may be smaller than that, which is 128 KiB on Arm.
    int error = ::pthread_attr_setstacksize(&attributes, std::max(bytes, static_cast<size_t>(PTHREAD_STACK_MIN)));
    if (error == 0) error = ::pthread_create(&thread, &attributes, run, &call);
    ::pthread_attr_destroy(&attributes);
    if (error != 0)
        throw Error(ErrorCode::memory, "no room for a stack of " + std::to_string(bytes) +
                                           " bytes: " + std::generic_category().message(error));
    ::pthread_join(thread, nullptr);
    if (call.thrown) std::rethrow_exception(call.thrown);
}

} // namespace lamina
