#include "reading/pair_texts.hpp"

#include <algorithm>

namespace lamina::reading {
namespace {

std::string written(const model::Reading &model, const std::string &first, const std::string &second,
                    const std::string &prompt) {
    std::string out;
    for (const model::PairPart &part : prompt.empty() ? model.pair->plain : model.pair->prompted) {
        using enum model::PairPart::Of;
        out += part.of == first_text    ? first
               : part.of == second_text ? second
               : part.of == prompt_text ? prompt
                                        : part.text;
    }
    return out;
}

} // namespace

Encoding encode_pair(const model::Reading &model, const std::string &first, const std::string &second,
                     const std::string &prompt, bool shorten) {
    constexpr EncodeOptions bare{.add_special_tokens = false}; // the text has those that it needs
    const auto tokens_of = [&](const std::string &a, const std::string &b) {
        return model.tokenizer.encode(written(model, a, b, prompt), bare);
    };
    const Encoding whole = tokens_of(first, second);
    const auto longest = static_cast<size_t>(model.longest);
    if (!shorten || whole.size() <= longest) return whole;
    // What texts with nothing in common end with.
    const std::vector<int32_t> some = tokens_of("0", "0").ids, others = tokens_of("1 2 3 4", "1 2 3 4").ids;
    const auto ends = std::mismatch(some.rbegin(), some.rend(), others.rbegin(), others.rend());
    const size_t tail = std::min(static_cast<size_t>(ends.first - some.rbegin()), longest);
    return only(whole, [&](size_t i) { return i < longest - tail || i >= whole.size() - tail; });
}

} // namespace lamina::reading
