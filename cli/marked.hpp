// Words that CLI11 would take for more than a word: "[a,b]" for a list, "++" for the end of a command, "{}" for
// nothing, and every word after "--" for an option again if it looks like one. A mark before them keeps them whole.
#pragma once

#include <string>
#include <string_view>

namespace lamina::cli {

constexpr char mark = '\x01';

[[nodiscard]] inline bool needs_mark(const std::string &word) {
    return !word.empty() && std::string_view("[{+\x01").find(word.front()) != std::string_view::npos;
}
[[nodiscard]] inline std::string marked(const std::string &word) { return mark + word; }
[[nodiscard]] inline std::string plain(const std::string &word) {
    return word.starts_with(mark) ? word.substr(1) : word;
}

} // namespace lamina::cli
