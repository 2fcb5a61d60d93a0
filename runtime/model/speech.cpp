#include "model/speech.hpp"

#include "base/utf8.hpp"
#include "tokenizer/decoder.hpp"
#include "tokenizer/unicode.hpp"

#include <algorithm>
#include <utility>

namespace lamina::model {
namespace {

// Without white space at both ends.
std::string_view trimmed(std::string_view text) {
    while (!text.empty()) {
        const Character first = character_at(text, 0);
        if (!tokenizer::is_whitespace(first.code)) break;
        text.remove_prefix(first.length);
    }
    while (!text.empty()) {
        const Character last = character_before(text, text.size());
        if (!tokenizer::is_whitespace(last.code)) break;
        text.remove_suffix(last.length);
    }
    return text;
}

} // namespace

// Labels are compared by their texts: several may stand for what the vocabulary does not have.
std::vector<Speech::Run> Speech::collapsed(std::span<const int32_t> frames) const {
    const auto label = [&](int32_t id) -> const std::string & { return labels[static_cast<size_t>(id)]; };
    std::vector<Run> out;
    for (size_t begin = 0, end = 0; begin < frames.size(); begin = end) {
        while (end < frames.size() && label(frames[end]) == label(frames[begin])) ++end;
        if (label(frames[begin]) != blank) out.push_back({frames[begin], begin, end});
    }
    return out;
}

// transformers, models/wav2vec2/tokenization_wav2vec2.py, convert_tokens_to_string.
std::string Speech::text_of(std::span<const int32_t> collapsed) const {
    std::string all;
    for (const int32_t id : collapsed) {
        const std::string &label = labels[static_cast<size_t>(id)];
        all += label == delimiter ? space : label;
    }
    std::string out(trimmed(all));
    if (lowercase) out = tokenizer::lower_case(out);
    return clean_up ? tokenizer::cleaned_up(std::move(out)) : out;
}

std::string Speech::between() const {
    return space == " " && std::ranges::find(labels, delimiter) != labels.end() ? space : "";
}

} // namespace lamina::model
