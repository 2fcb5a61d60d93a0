#include "base/shell.hpp"

#include <algorithm>

namespace lamina {

std::string shell_word(std::string_view text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_-./:,=+@%").find(c) != std::string_view::npos;
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
    std::string out = "'";
    for (const char c : text)
        if (c == '\'')
            out += "'\\''"; // only a single quote is special between single quotes
        else
            out += c;
    return out + "'";
}

} // namespace lamina
