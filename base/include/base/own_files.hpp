// What belongs to Lamina and is found at run time: plugins, and libraries of which few runs have need. What such a
// library links takes every program time and memory that has it loaded, so it is opened when it is first used.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lamina {

// A file or folder of lib/lamina, in the build tree, in an installation or beside a copied liblamina; none if it is not
// there. The current folder is never searched.
[[nodiscard]] std::optional<std::filesystem::path> own_file(const std::filesystem::path &name);

// The function SYMBOL of the library that lamina_add_own_library(NAME) built. Throws Error(failure) if it is not there,
// and Error(memory).
[[nodiscard]] void *own_function(const std::string &name, const char *symbol);
template <class Function> [[nodiscard]] Function *own_function(const std::string &name, const char *symbol) {
    return reinterpret_cast<Function *>(own_function(name, symbol));
}

} // namespace lamina
