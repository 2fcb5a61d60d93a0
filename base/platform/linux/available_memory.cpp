#include "base/available_memory.hpp"

#include "platform/linux/memory_texts.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>

#include <malloc.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

// Empty where it is not there: a sandbox without /proc, a system without control groups.
std::string system_file(const fs::path &file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<uint64_t> number_at(std::string_view text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

// "/user.slice/a.scope" of "0::/user.slice/a.scope", the line of control groups of version 2; else "/".
fs::path control_group(std::string_view groups) {
    const size_t at = groups.starts_with("0::/") ? 0 : groups.find("\n0::/") + 1;
    if (!groups.substr(at).starts_with("0::/")) return "/";
    const std::string_view path = groups.substr(at + 3);
    return fs::path(path.substr(0, path.find('\n'))).lexically_normal();
}

std::optional<uint64_t> ask_available_memory() {
    std::optional<uint64_t> least = available_memory(system_file("/proc/meminfo"));
    for (fs::path group = control_group(system_file("/proc/self/cgroup"));; group = group.parent_path()) {
        const fs::path folder = fs::path("/sys/fs/cgroup") / group.relative_path();
        const auto file = [&](const char *name) { return system_file(folder / name); };
        const auto left = available_memory(file("memory.max"), file("memory.current"), file("memory.stat"));
        if (left && (!least || *left < *least)) least = left;
        if (!group.has_relative_path()) return least;
    }
}

} // namespace

void give_back_freed_memory() { (void)::malloc_trim(0); }

// glibc would raise this size to that of the largest block that was freed.
void give_back_large_blocks(size_t bytes) { (void)::mallopt(M_MMAP_THRESHOLD, static_cast<int>(bytes)); }

std::optional<uint64_t> available_memory(uint64_t enough) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds fresh{10}; // in which nobody can fill more than some 100 MiB
    static std::mutex mutex;
    static std::optional<Clock::time_point> asked;
    static std::optional<uint64_t> answer;
    const std::lock_guard lock(mutex);
    if (!asked || Clock::now() - *asked > fresh || (answer && *answer < enough))
        answer = ask_available_memory(), asked = Clock::now();
    return answer;
}

std::optional<uint64_t> available_memory(std::string_view limit, std::string_view current, std::string_view stat) {
    const auto most = number_at(limit), used = number_at(current); // "max": no limit
    if (!most || !used) return std::nullopt;
    uint64_t dropped = 0;
    for (const std::string_view key : {"\ninactive_file ", "\nactive_file "})
        if (const size_t at = stat.find(key); at != std::string_view::npos)
            dropped += number_at(stat.substr(at + key.size())).value_or(0);
    const uint64_t held = *used - std::min(*used, dropped);
    return *most - std::min(*most, held);
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
