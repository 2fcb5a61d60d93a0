#include "base/dynamic_library.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <sys/stat.h>

namespace lamina {

namespace fs = std::filesystem;

const std::string library_ending = ".so";
const char path_list_separator = ':';

DynamicLibrary open_library(const fs::path &path) {
    if (void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, {}, false};
    DynamicLibrary out{nullptr, ::dlerror(), false};
    // errno is not part of what dlopen promises; its words are all there is.
    constexpr std::array words{"failed to map segment", "cannot allocate memory", "Cannot allocate memory"};
    out.no_memory =
        std::ranges::any_of(words, [&](std::string_view each) { return out.fault.find(each) != std::string::npos; });
    return out;
}

void *symbol_in(void *library, const char *name) { return ::dlsym(library, name); }

std::optional<fs::path> library_with(const void *address) {
    Dl_info library{};
    if (::dladdr(address, &library) == 0) return std::nullopt;
    return library.dli_fname;
}

std::optional<fs::path> this_program() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? std::nullopt : std::optional(program);
}

bool writable_by_everyone(const fs::path &path) {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0 && (s.st_mode & S_IWOTH) != 0 && (s.st_mode & S_ISVTX) == 0;
}

} // namespace lamina
