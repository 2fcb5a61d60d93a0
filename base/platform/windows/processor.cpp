#include "base/processor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <thread>

#include <windows.h>

namespace lamina {

size_t cores() {
    DWORD_PTR usable = 0, all = 0;
    const bool known = GetProcessAffinityMask(GetCurrentProcess(), &usable, &all) != 0 && usable != 0;
    // More processors than bits are in several groups, of which the mask shows one.
    const unsigned every = std::thread::hardware_concurrency();
    const auto shown = static_cast<unsigned>(std::popcount(usable));
    return std::max(1u, known && every <= 64 ? shown : every);
}

std::string processor_name() {
    std::array<char, 256> name{};
    DWORD size = name.size();
    const bool known = RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                                    "ProcessorNameString", RRF_RT_REG_SZ, nullptr, name.data(), &size) == ERROR_SUCCESS;
    return known ? name.data() : "";
}

std::string system_name() {
    std::array<char, 64> build{};
    DWORD size = build.size();
    const bool known = RegGetValueA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion",
                                    "CurrentBuild", RRF_RT_REG_SZ, nullptr, build.data(), &size) == ERROR_SUCCESS;
    return std::string("Windows") + (known ? std::string(", build ") + build.data() : "") + " x86_64";
}

} // namespace lamina
