#include "base/thread_end.hpp"

#include <memory>
#include <new>
#include <vector>

#include <windows.h>

namespace lamina {
namespace {

struct End {
    void (*destroy)(void *);
    void *object;
};
using Ends = std::vector<End>;

void NTAPI end_all(void *of_thread) {
    const std::unique_ptr<Ends> ends(static_cast<Ends *>(of_thread));
    for (auto end = ends->rbegin(); end != ends->rend(); ++end) end->destroy(end->object);
}

} // namespace

// "Fiber-local storage" is a thread's own, and the system tells of the thread's end.
void at_thread_end(void (*destroy)(void *object), void *object) {
    static const DWORD slot = FlsAlloc(end_all);
    auto *ends = static_cast<Ends *>(FlsGetValue(slot));
    if (ends == nullptr) {
        auto made = std::make_unique<Ends>();
        if (FlsSetValue(slot, made.get()) == 0) throw std::bad_alloc();
        ends = made.release();
    }
    ends->push_back({destroy, object});
}

// No header of Windows declares this function.
bool threads_have_ended() {
    const FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlDllShutdownInProgress");
    return found != nullptr && reinterpret_cast<BOOLEAN(NTAPI *)()>(reinterpret_cast<void *>(found))() != FALSE;
}

} // namespace lamina
