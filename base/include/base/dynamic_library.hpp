// Libraries that are opened at run time. None is ever closed, so their code and data live as long as the process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lamina {

extern const std::string library_ending; // of file names: ".so"
extern const char path_list_separator;   // in variables that list folders: ':'

struct DynamicLibrary {
    void *handle = nullptr; // null if it could not be opened
    std::string fault;      // why not
    bool no_memory = false; // it is not the library's fault
};

// The path of a library; or its name, which is searched for as the system does. Its symbols are not seen by others.
// Returns the same handle if it is already open, even if the file has been replaced.
[[nodiscard]] DynamicLibrary open_library(const std::filesystem::path &path);
[[nodiscard]] void *symbol_in(void *library, const char *name); // null if there is none

// The file that this code or data was loaded from, and that of this program; none if the system does not say.
[[nodiscard]] std::optional<std::filesystem::path> library_with(const void *address);
[[nodiscard]] std::optional<std::filesystem::path> this_program();

// Whether anybody may replace what this file or folder holds.
[[nodiscard]] bool writable_by_everyone(const std::filesystem::path &path);

} // namespace lamina
