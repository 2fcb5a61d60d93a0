// The folder for data that is kept between runs but can be recreated.
#pragma once

#include <filesystem>
#include <optional>

namespace lamina {

// $XDG_CACHE_HOME/lamina, else $HOME/.cache/lamina, on Windows %LOCALAPPDATA%\lamina; nothing if neither variable
// holds an absolute path.
[[nodiscard]] std::optional<std::filesystem::path> cache_folder();

} // namespace lamina
