#include "base/cache_folder.hpp"

#include <cstdlib>

namespace lamina {

std::optional<std::filesystem::path> cache_folder() {
    for (const char *variable : {"XDG_CACHE_HOME", "LOCALAPPDATA"})
        if (const char *value = std::getenv(variable))
            if (const std::filesystem::path path = value; path.is_absolute()) return path / "lamina";
    return std::nullopt;
}

} // namespace lamina
