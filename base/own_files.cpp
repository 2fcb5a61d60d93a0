#include "base/own_files.hpp"

#include "base/dynamic_library.hpp"

#include <lamina/error.hpp>

#include <system_error>
#include <vector>

namespace lamina {
namespace {

namespace fs = std::filesystem;

// lib/lamina, by the place of liblamina or of the program that this code is linked into. LAMINA_INSTALL_FOLDER is
// relative to the prefix.
std::vector<fs::path> own_folders() {
    std::vector<fs::path> out;
    // A relative path would search the current folder.
    if (const auto library = library_with(reinterpret_cast<const void *>(&own_folders));
        library && library->is_absolute())
        out.push_back(library->parent_path() / "lamina");
    if (const auto program = this_program())
        for (const char *relative : {"lib/lamina", LAMINA_INSTALL_FOLDER})
            out.push_back(program->parent_path().parent_path() / relative);
    return out;
}

} // namespace

std::optional<fs::path> own_file(const fs::path &name) {
    std::error_code error;
    for (const fs::path &folder : own_folders())
        if (fs::exists(folder / name, error)) return folder / name;
    return std::nullopt;
}

void *own_function(const std::string &name, const char *symbol) {
    const std::string file = "liblamina_" + name + "-" LAMINA_SERIES + library_ending;
    const auto refuse = [&](ErrorCode code, const std::string &why) {
        throw Error(code, "Lamina's library " + file + " " + why);
    };
    const std::optional<fs::path> path = own_file(file);
    if (!path) {
        std::string places;
        for (const fs::path &folder : own_folders()) places += (places.empty() ? "" : ", ") + folder.string();
        refuse(ErrorCode::failure, "is missing: install Lamina again; expected it in one of " + places);
    }
    const DynamicLibrary library = open_library(*path);
    if (library.handle == nullptr)
        refuse(library.no_memory ? ErrorCode::memory : ErrorCode::failure,
               "cannot be opened: " + library.fault + ": install what it needs, or Lamina again");
    void *function = symbol_in(library.handle, symbol);
    if (function == nullptr)
        refuse(ErrorCode::failure, "(" + path->string() + ") has no " + symbol + ": install Lamina again");
    return function;
}

} // namespace lamina
