#include "base/peak_memory.hpp"

#include <fstream>
#include <string>

namespace lamina {

// getrusage() cannot be reset.
uint64_t peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    return 0;
}

void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << 5; }

} // namespace lamina
