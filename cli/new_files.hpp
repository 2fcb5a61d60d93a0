// Files of a new project, which are written from texts inside the command.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::cli {

// A file to write: path and contents.
using NewFile = std::pair<std::filesystem::path, std::string>;

// Fails on a name that is not of lower_case words, such as "rms_norm", or that means something in C++. `what`: "a
// layer".
void check_new_name(const std::string &what, const std::string &name);

// `text` with `to` wherever it has `from`.
[[nodiscard]] std::string renamed(std::string_view text, const std::string &from, const std::string &to);

// Writes all of the files or none. `folders` contain them; each must be new or empty. `what`: "layer".
void write_all(const std::string &what, const std::vector<NewFile> &files,
               const std::vector<std::filesystem::path> &folders);

} // namespace lamina::cli
