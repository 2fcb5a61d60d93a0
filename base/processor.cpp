#include "base/processor.hpp"

#include <algorithm>
#include <fstream>

namespace lamina {

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
    return {};
}

} // namespace lamina
