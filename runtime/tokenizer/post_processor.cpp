#include "tokenizer/post_processor.hpp"

#include "tokenizer/byte_characters.hpp"
#include "tokenizer/unicode.hpp"

#include <lamina/error.hpp>

#include <algorithm>

namespace lamina::tokenizer {
namespace {

Encoding special_tokens(const std::vector<SpecialToken> &tokens, int32_t type) {
    Encoding out;
    for (const SpecialToken &each : tokens) {
        out.ids.push_back(each.id);
        out.tokens.push_back(each.token);
    }
    out.offsets.resize(tokens.size());
    out.types.assign(tokens.size(), type);
    out.special.assign(tokens.size(), true);
    out.words.assign(tokens.size(), -1);
    return out;
}

Encoding with_type(Encoding part, int32_t type) {
    std::fill(part.types.begin(), part.types.end(), type);
    return part;
}

bool is_blank(char32_t code) { return code == character_of_byte(' ') || is_whitespace(code); }

size_t leading_blanks(const std::string &token) {
    size_t count = 0;
    for (size_t at = 0; at < token.size() && is_blank(character_at(token, at).code); ++count)
        at += character_at(token, at).length;
    return count;
}

size_t trailing_blanks(const std::string &token) {
    size_t count = 0;
    for (size_t end = token.size(); end > 0 && is_blank(character_before(token, end).code); ++count)
        end -= character_before(token, end).length;
    return count;
}

void trim(Encoding &part, bool add_prefix_space) {
    for (size_t i = 0; i < part.size(); ++i) {
        TextRange &range = part.offsets[i];
        const size_t leading = leading_blanks(part.tokens[i]), trailing = trailing_blanks(part.tokens[i]);
        const bool is_first = i == 0 || range.begin == 0;
        const bool was_added = is_first && add_prefix_space && leading == 1; // so it is not in the original
        if (leading > 0) range.begin = std::min(range.begin + (was_added ? 0 : leading), range.end);
        if (trailing > 0 && range.end >= trailing) range.end = std::max(range.end - trailing, range.begin);
    }
}

} // namespace

void append(Encoding &to, const Encoding &part) {
    to.ids.insert(to.ids.end(), part.ids.begin(), part.ids.end());
    to.tokens.insert(to.tokens.end(), part.tokens.begin(), part.tokens.end());
    to.offsets.insert(to.offsets.end(), part.offsets.begin(), part.offsets.end());
    to.types.insert(to.types.end(), part.types.begin(), part.types.end());
    to.special.insert(to.special.end(), part.special.begin(), part.special.end());
    to.words.insert(to.words.end(), part.words.begin(), part.words.end());
}

PostProcessor bert_processing(const SpecialToken &cls, const SpecialToken &sep) {
    return template_processing({{0, {cls}, 0}, {0, {}, 0}, {0, {sep}, 0}},
                               {{0, {cls}, 0}, {0, {}, 0}, {0, {sep}, 0}, {1, {}, 1}, {0, {sep}, 1}});
}

PostProcessor roberta_processing(const SpecialToken &cls, const SpecialToken &sep) {
    return template_processing({{0, {cls}, 0}, {0, {}, 0}, {0, {sep}, 0}},
                               {{0, {cls}, 0}, {0, {}, 0}, {0, {sep, sep}, 0}, {1, {}, 0}, {0, {sep}, 0}});
}

PostProcessor trim_offsets(bool add_prefix_space) {
    return [add_prefix_space](std::vector<Encoding> &parts, bool) {
        for (Encoding &part : parts) trim(part, add_prefix_space);
    };
}

PostProcessor sequence(std::vector<PostProcessor> processors) {
    return [processors = std::move(processors)](std::vector<Encoding> &parts, bool add_special_tokens) {
        for (const PostProcessor &each : processors) each(parts, add_special_tokens);
    };
}

PostProcessor template_processing(std::vector<TemplatePiece> single, std::vector<TemplatePiece> pair) {
    return [single = std::move(single), pair = std::move(pair)](std::vector<Encoding> &parts, bool add_special_tokens) {
        if (parts.size() > 2)
            throw Error(ErrorCode::input, "the tokenizer's post-processor applies a template to the result of another "
                                          "one, which has " +
                                              std::to_string(parts.size()) + " parts; expected one text or two");
        std::vector<Encoding> out;
        for (const TemplatePiece &piece : parts.size() == 1 ? single : pair) {
            if (piece.special.empty())
                out.push_back(with_type(parts[piece.text], piece.type));
            else if (add_special_tokens)
                out.push_back(special_tokens(piece.special, piece.type));
        }
        parts = std::move(out);
    };
}

} // namespace lamina::tokenizer
