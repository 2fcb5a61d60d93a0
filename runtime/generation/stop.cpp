#include "generation/stop.hpp"

#include <algorithm>

namespace lamina::generation {

const std::vector<std::string> &stops_of(const model::Model &model, const GenerateOptions &options) {
    return options.stop.empty() ? model.generation->decoding.stop_strings : options.stop;
}

bool stops(const model::TextCodec &codec, std::span<const int32_t> tokens, size_t first,
           const std::vector<std::string> &stops, bool special) {
    constexpr size_t margin = 8; // tokens that hold no whole character, or are special
    size_t longest = 0;
    for (const std::string &stop : stops) longest = std::max(longest, stop.size());
    const size_t begin = std::max(first, tokens.size() - std::min(tokens.size(), longest + margin));
    // As the answer's text has it, whose first word has a blank before it, if it is not the first one of all.
    const size_t known = codec.split() == model::TextCodec::Split::tokenizer ? std::min(begin, margin) : 0;
    Ids end;
    for (const int32_t token : tokens.subspan(begin - known, known))
        if (token >= 0) end.push_back(token); // not of an image
    const std::string outside = codec.decode(end, special);
    for (const int32_t token : tokens.subspan(begin))
        if (token >= 0) end.push_back(token);
    const std::string text = codec.decode(end, special);
    end.pop_back();
    const std::string before = codec.decode(end, special);
    const auto same = [&](const std::string &other) {
        return static_cast<size_t>(std::ranges::mismatch(other, text).in2 - text.begin());
    };
    const size_t from = same(outside), old = same(before);
    return std::ranges::any_of(stops, [&](const std::string &stop) {
        return text.find(stop, std::max(from, old + 1 > stop.size() ? old + 1 - stop.size() : 0)) != std::string::npos;
    });
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
