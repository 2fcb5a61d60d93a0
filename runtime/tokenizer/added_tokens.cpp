#include "tokenizer/added_tokens.hpp"

#include "base/utf8.hpp"
#include "tokenizer/unicode.hpp"

#include <lamina/error.hpp>

#include <algorithm>

namespace lamina::tokenizer {
namespace {

struct Match {
    Span span;
    int32_t token; // index into tokens_
};

// The longest pattern that matches at `begin`.
Match longest_match(const Trie &patterns, std::string_view text, uint32_t begin) {
    Match out{{begin, begin}, Trie::no_value};
    uint32_t node = Trie::root;
    for (uint32_t at = begin; at < text.size(); ++at) {
        node = patterns.next(node, text[at]);
        if (node == Trie::no_node) break;
        if (patterns.value(node) != Trie::no_value) out = {{begin, at + 1}, patterns.value(node)};
    }
    return out;
}

bool stands_alone(std::string_view text, Span span) {
    return (span.begin == 0 || !is_word(character_before(text, span.begin).code)) &&
           (span.end == text.size() || !is_word(character_at(text, span.end).code));
}

uint32_t begin_of_blanks(std::string_view text, uint32_t end, uint32_t earliest) {
    while (end > earliest && is_whitespace(character_before(text, end).code))
        end -= static_cast<uint32_t>(character_before(text, end).length);
    return end;
}

uint32_t end_of_blanks(std::string_view text, uint32_t begin) {
    while (begin < text.size() && is_whitespace(character_at(text, begin).code))
        begin += static_cast<uint32_t>(character_at(text, begin).length);
    return begin;
}

} // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer &normalizer) : tokens_(std::move(tokens)) {
    std::unordered_map<std::string, size_t> seen[2];
    for (size_t place = 0; place < tokens_.size(); ++place) {
        const AddedToken &token = tokens_[place];
        Growth growth(token.content.size());
        Text text(token.content, growth);
        if (token.normalized) normalizer(text);
        const std::string &pattern = text.now();
        const auto refuse = [&](const std::string &why) {
            throw Error(ErrorCode::input, "the added token " + in_quotes(token.content) + ": " + why);
        };
        if (pattern.empty()) refuse(token.content.empty() ? "empty" : "empty once it is normalized");
        const auto [other, is_new] = seen[token.normalized ? 1 : 0].emplace(pattern, place);
        if (!is_new) refuse("matches the same text as " + in_quotes(tokens_[other->second].content));
        if (!by_id_.emplace(token.id, place).second)
            refuse("its id " + std::to_string(token.id) + " is already used by " +
                   in_quotes(tokens_[by_id_[token.id]].content));
        (token.normalized ? normalized_ : verbatim_).add(pattern, static_cast<int32_t>(place));
        decoded_.emplace(token.id, pattern);
        if (token.special) special_.insert(token.content);
    }
}

const AddedToken *AddedTokens::by_id(int32_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

std::vector<Piece> AddedTokens::split(Text text, const Normalizer &normalizer) const {
    std::vector<Piece> pieces;
    pieces.push_back({std::move(text)});
    split(pieces, verbatim_);
    for (Piece &piece : pieces)
        if (!piece.added_token) normalizer(piece.text);
    split(pieces, normalized_);
    return pieces;
}

void AddedTokens::split(std::vector<Piece> &pieces, const Trie &patterns) const {
    std::vector<Piece> out;
    out.reserve(pieces.size());
    for (Piece &piece : pieces) {
        if (piece.added_token)
            out.push_back(std::move(piece));
        else
            split(piece.text, patterns, out);
    }
    pieces = std::move(out);
}

void AddedTokens::split(const Text &text, const Trie &patterns, std::vector<Piece> &out) const {
    const std::string &now = text.now();
    const auto add = [&](Span part, std::optional<int32_t> token) {
        if (part.size() != 0) out.push_back({text.slice(part), token});
    };
    uint32_t done = 0;
    for (uint32_t at = 0; at < now.size();) {
        const Match match = longest_match(patterns, now, at);
        if (match.token == Trie::no_value) {
            ++at;
            continue;
        }
        at = match.span.end;
        const AddedToken &token = tokens_[static_cast<size_t>(match.token)];
        if (token.single_word && !stands_alone(now, match.span)) continue;
        const uint32_t end = token.rstrip ? end_of_blanks(now, match.span.end) : match.span.end;
        const uint32_t begin = token.lstrip
                                   ? std::min(end, std::max(done, begin_of_blanks(now, match.span.begin, done)))
                                   : match.span.begin;
        if (done < begin) add({done, begin}, std::nullopt);
        add({begin, end}, token.id);
        done = end;
    }
    if (done < now.size()) add({done, static_cast<uint32_t>(now.size())}, std::nullopt);
}

} // namespace lamina::tokenizer
