#include "base/available_memory.hpp"

#include <algorithm>

#include <malloc.h>
#include <windows.h>

namespace lamina {

// Windows promises no more memory than it can provide, which may be less than what is free.
std::optional<uint64_t> available_memory(uint64_t) {
    MEMORYSTATUSEX status{};
    status.dwLength = sizeof status;
    if (GlobalMemoryStatusEx(&status) == 0) return std::nullopt;
    return std::min<uint64_t>(status.ullAvailPhys, status.ullAvailPageFile);
}

void give_back_freed_memory() { (void)_heapmin(); }

void give_back_large_blocks(size_t) {} // as Windows does

} // namespace lamina
