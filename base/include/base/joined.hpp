// Lists in messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lamina {

// "a, b, c"
[[nodiscard]] inline std::string joined(const std::vector<std::string> &words, std::string_view separator = ", ") {
    std::string out;
    for (size_t i = 0; i < words.size(); ++i) out.append(i != 0 ? separator : "").append(words[i]);
    return out;
}

} // namespace lamina
