#include "base/peak_memory.hpp"

#include <windows.h>

#include <psapi.h>

namespace lamina {

uint64_t peak_memory() {
    PROCESS_MEMORY_COUNTERS counters{};
    return GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters) != 0 ? counters.PeakWorkingSetSize : 0;
}

void reset_peak_memory() {}

} // namespace lamina
