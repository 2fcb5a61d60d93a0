#include "base/processor.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include <sched.h>
#include <sys/utsname.h>

namespace lamina {

size_t cores() {
    cpu_set_t usable;
    const bool known = ::sched_getaffinity(0, sizeof usable, &usable) == 0; // fails beyond 1,024 processors
    return std::max(1u, known ? static_cast<unsigned>(CPU_COUNT(&usable)) : std::thread::hardware_concurrency());
}

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
    return {};
}

std::string system_name() {
    utsname system{};
    ::uname(&system);
    return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

} // namespace lamina
