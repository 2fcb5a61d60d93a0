// Where what can be made anew is kept between runs.
#pragma once

#include <filesystem>
#include <optional>

namespace lamina {

// $XDG_CACHE_HOME/lamina, else $HOME/.cache/lamina; nothing when neither variable holds an absolute path.
[[nodiscard]] std::optional<std::filesystem::path> cache_folder();

} // namespace lamina
