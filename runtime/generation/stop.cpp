#include "generation/stop.hpp"

#include <algorithm>

namespace lamina::generation {

bool stops(const model::TextCodec &codec, std::span<const int32_t> tokens, const std::vector<std::string> &stops) {
    constexpr size_t margin = 8; // tokens that hold no whole character
    size_t longest = 0;
    for (const std::string &stop : stops) longest = std::max(longest, stop.size());
    const size_t count = std::min(tokens.size(), longest + margin);
    const std::string text = codec.decode(tokens.last(count));
    return first_stop(text, stops) != text.size();
}

size_t first_stop(std::string_view text, const std::vector<std::string> &stops) {
    size_t first = text.size();
    for (const std::string &stop : stops) first = std::min(first, text.find(stop));
    return first;
}

size_t safe_length(std::string_view text, const std::vector<std::string> &stops) {
    const size_t first = first_stop(text, stops);
    if (first != text.size()) return first;
    size_t held = 0; // bytes at the end
    for (const std::string_view stop : stops)
        for (size_t length = std::min(stop.size() - 1, text.size()); length > held; --length)
            if (text.ends_with(stop.substr(0, length))) held = length;
    return text.size() - held;
}

} // namespace lamina::generation
