#include "base/available_memory.hpp"

#include "base/file.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <charconv>

namespace lamina {

std::optional<uint64_t> available_memory() {
    try {
        const std::vector<std::byte> bytes = read_file("/proc/meminfo", 1u << 20);
        return available_memory({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    } catch (const Error &) {
        return std::nullopt; // a sandbox without /proc
    }
}

// "MemAvailable:   23693128 kB", where kB are KiB.
std::optional<uint64_t> available_memory(std::string_view meminfo) {
    constexpr std::string_view key = "MemAvailable:";
    const size_t at = meminfo.starts_with(key) ? 0 : meminfo.find("\nMemAvailable:") + 1;
    if (!meminfo.substr(at).starts_with(key)) return std::nullopt;
    std::string_view rest = meminfo.substr(at + key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    uint64_t kib = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), kib);
    if (error != std::errc() || !rest.substr(static_cast<size_t>(end - rest.data())).starts_with(" kB") ||
        kib > UINT64_MAX / 1024)
        return std::nullopt;
    return kib * 1024;
}

} // namespace lamina
