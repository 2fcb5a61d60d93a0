#include "base/cache_folder.hpp"

#include <cstdlib>

namespace lamina {

std::optional<std::filesystem::path> cache_folder() {
    const auto absolute = [](const char *variable) -> std::optional<std::filesystem::path> {
        const char *value = std::getenv(variable);
        if (value == nullptr || value[0] != '/') return std::nullopt;
        return value;
    };
    if (const auto cache = absolute("XDG_CACHE_HOME")) return *cache / "lamina";
    if (const auto home = absolute("HOME")) return *home / ".cache" / "lamina";
    return std::nullopt;
}

} // namespace lamina
