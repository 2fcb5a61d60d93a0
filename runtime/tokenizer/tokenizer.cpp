#include "base/utf8.hpp"
#include "tokenizer/parts.hpp"
#include "tokenizer/unicode.hpp"

#include <algorithm>

namespace lamina {
namespace {

using tokenizer::Piece;
using tokenizer::Span;
using tokenizer::WordToken;

// Converts offsets in bytes to offsets in characters. Ranges that begin at or past the end stay unchanged, as in
// Hugging Face's tokenizers.
class Ruler {
  public:
    Ruler(std::string_view text, EncodeOptions::Unit unit) {
        if (unit == EncodeOptions::Unit::bytes) return;
        character_.reserve(text.size());
        for (size_t at = 0, count = 0; at < text.size(); ++count) {
            const size_t length = character_at(text, at).length;
            character_.insert(character_.end(), length, count);
            at += length;
        }
    }
    [[nodiscard]] TextRange measure(Span span) const {
        if (span.begin >= character_.size()) return {span.begin, span.end};
        const size_t begin = character_[span.begin];
        if (span.end < character_.size()) return {begin, character_[span.end]};
        const size_t last = span.end - 1;
        return {begin, (last < character_.size() ? character_[last] : begin + 1) + 1};
    }

  private:
    std::vector<size_t> character_; // of each byte
};

Encoding encode_one(const Tokenizer::Parts &parts, std::string_view text, int32_t type, EncodeOptions::Unit unit) {
    if (const size_t bad = first_invalid_utf8(text); bad != text.size())
        throw Error(ErrorCode::input, in_quotes(text) + ": invalid UTF-8 at offset " + std::to_string(bad));
    tokenizer::Growth growth(text.size());
    std::vector<Piece> pieces = parts.added.split(tokenizer::Text(text, growth), parts.normalizer);
    parts.pre_tokenizer(pieces);

    const Ruler ruler(text, unit);
    Encoding out;
    std::vector<WordToken> tokens;
    for (int32_t number = 0; const Piece &piece : pieces) {
        const std::string &word = piece.text.now();
        tokens.clear();
        if (piece.added_token)
            tokens.push_back({*piece.added_token, {0, static_cast<uint32_t>(word.size())}, true});
        else
            parts.model->tokenize(word, tokens);
        for (const WordToken &token : tokens) {
            out.ids.push_back(token.id);
            out.tokens.emplace_back(token.verbatim ? token.span.of(word) : *parts.model->token(token.id));
            out.offsets.push_back(ruler.measure(piece.text.origin(token.span)));
            out.words.push_back(number);
        }
        ++number;
    }
    out.types.assign(out.size(), type);
    out.special.assign(out.size(), false);
    return out;
}

Encoding encode_each(const Tokenizer::Parts &parts, std::span<const std::string> words, int32_t type,
                     EncodeOptions::Unit unit) {
    Encoding out;
    for (size_t i = 0; i < words.size(); ++i) {
        Encoding word = encode_one(parts, words[i], type, unit);
        std::ranges::fill(word.words, static_cast<int32_t>(i));
        tokenizer::append(out, word);
    }
    return out;
}

Encoding joined(const Tokenizer::Parts &parts, std::vector<Encoding> texts, bool add_special_tokens) {
    parts.post_processor(texts, add_special_tokens);
    Encoding out;
    for (Encoding &each : texts) {
        if (out.size() == 0)
            out = std::move(each);
        else
            tokenizer::append(out, each);
    }
    return out;
}

} // namespace

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions &options) const {
    return joined(*parts_, {encode_one(*parts_, text, 0, options.offsets)}, options.add_special_tokens);
}

Encoding Tokenizer::encode(std::string_view text, std::string_view second, const EncodeOptions &options) const {
    return joined(*parts_,
                  {encode_one(*parts_, text, 0, options.offsets), encode_one(*parts_, second, 1, options.offsets)},
                  options.add_special_tokens);
}

Encoding Tokenizer::encode_words(std::span<const std::string> words, const EncodeOptions &options) const {
    return joined(*parts_, {encode_each(*parts_, words, 0, options.offsets)}, options.add_special_tokens);
}

Encoding Tokenizer::encode_words(std::span<const std::string> words, std::span<const std::string> second,
                                 const EncodeOptions &options) const {
    return joined(*parts_,
                  {encode_each(*parts_, words, 0, options.offsets), encode_each(*parts_, second, 1, options.offsets)},
                  options.add_special_tokens);
}

std::string tokenizer::decoded(const Tokenizer::Parts &parts, std::span<const int32_t> ids, bool skip_special_tokens) {
    std::vector<std::string> tokens;
    for (const int32_t id : ids) {
        std::optional<std::string> text;
        if (parts.added.by_id(id) != nullptr)
            text = parts.added.decoded_text(id);
        else
            text = parts.model->token(id);
        if (text && !(skip_special_tokens && parts.added.is_special(*text))) tokens.push_back(std::move(*text));
    }
    std::string out;
    for (const std::string &part : parts.decoder(std::move(tokens))) out += part;
    return out;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
    std::string out = tokenizer::decoded(*parts_, ids, skip_special_tokens);
    return parts_->clean_up ? tokenizer::cleaned_up(std::move(out)) : out;
}

std::optional<int32_t> Tokenizer::id(std::string_view token) const {
    for (const tokenizer::AddedToken &each : parts_->added.all())
        if (each.content == token) return each.id;
    return parts_->model->id(token);
}

std::optional<std::string> Tokenizer::token(int32_t id) const {
    if (const tokenizer::AddedToken *added = parts_->added.by_id(id)) return added->content;
    if (const auto token = parts_->model->token(id)) return std::string(*token);
    return std::nullopt;
}

bool Tokenizer::is_special(int32_t id) const {
    const tokenizer::AddedToken *added = parts_->added.by_id(id);
    return added != nullptr && added->special;
}

size_t Tokenizer::size() const {
    int32_t end = parts_->model->end();
    for (const tokenizer::AddedToken &each : parts_->added.all()) end = std::max(end, each.id + 1);
    return static_cast<size_t>(end);
}

} // namespace lamina
