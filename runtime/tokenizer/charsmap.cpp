// SentencePiece's precompiled normalization: a double-array trie (darts-clone) of what is replaced, and the
// replacements.
#include "base/utf8.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/unicode.hpp"

#include <lamina/error.hpp>

#include <utf8proc.h>

#include <memory>
#include <optional>

namespace lamina::tokenizer {
namespace {

class Charsmap {
  public:
    explicit Charsmap(std::string_view compiled);

    // The replacement of the shortest prefix of `words` that has one.
    [[nodiscard]] std::optional<std::string_view> replacement(std::string_view words) const;

  private:
    [[nodiscard]] static size_t offset(uint32_t unit) {
        return static_cast<size_t>(unit >> 10) << ((unit & (1u << 9)) >> 6);
    }
    std::vector<uint32_t> trie_;
    std::string texts_;
};

[[noreturn]] void refuse(const std::string &why) {
    throw Error(ErrorCode::input, "the compiled character map: " + why);
}

Charsmap::Charsmap(std::string_view compiled) {
    const auto word = [&](size_t at) {
        uint32_t out = 0;
        for (size_t i = 0; i < 4; ++i)
            out |= static_cast<uint32_t>(static_cast<unsigned char>(compiled[at + i])) << (8 * i);
        return out;
    };
    if (compiled.size() < 4)
        refuse("expected the size of its trie, found " + std::to_string(compiled.size()) + " bytes");
    const size_t size = word(0);
    if (size % 4 != 0 || size == 0 || size > compiled.size() - 4)
        refuse("expected a trie of at most the " + std::to_string(compiled.size() - 4) +
               " bytes that follow, in units of 4, found a size of " + std::to_string(size));
    for (size_t at = 4; at < 4 + size; at += 4) trie_.push_back(word(at));
    texts_ = compiled.substr(4 + size);
    if (first_invalid_utf8(texts_) != texts_.size()) refuse("its texts are not UTF-8");
}

std::optional<std::string_view> Charsmap::replacement(std::string_view words) const {
    constexpr uint32_t label_bits = 1u << 31 | 0xFF, leaf_bit = 1u << 8;
    size_t node = offset(trie_[0]);
    for (const char c : words) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte == 0) return std::nullopt;
        node ^= byte;
        if (node >= trie_.size() || (trie_[node] & label_bits) != byte) return std::nullopt;
        const bool ends_here = (trie_[node] & leaf_bit) != 0;
        node ^= offset(trie_[node]);
        if (node >= trie_.size()) return std::nullopt;
        if (!ends_here) continue;
        const size_t begin = trie_[node] & ~(1u << 31);
        if (begin > texts_.size() ||
            (begin < texts_.size() && (static_cast<unsigned char>(texts_[begin]) & 0xC0) == 0x80))
            return std::nullopt; // a damaged map
        return std::string_view(texts_).substr(begin, texts_.find('\0', begin) - begin);
    }
    return std::nullopt;
}

// `to` replaces `from` characters.
void add(std::vector<Text::Change> &changes, size_t from, std::string_view to) {
    const size_t count = count_characters(to);
    size_t i = 0;
    for (size_t at = 0; at < to.size(); ++i) {
        const auto [code, length] = character_at(to, at);
        changes.push_back({code, i < from ? 0 : 1});
        at += length;
    }
    if (count < from && !changes.empty()) changes.back().change -= static_cast<int>(from - count);
}

// The end of the grapheme cluster that begins at `at` (Unicode 15, annex 29).
size_t grapheme_end(std::string_view text, size_t at) {
    utf8proc_int32_t state = 0;
    Character last = character_at(text, at);
    size_t end = at + last.length;
    while (end < text.size()) {
        const Character next = character_at(text, end);
        const bool joins = is_late_mark(next.code) && !is_control(last.code);
        if (!joins && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last.code),
                                                       static_cast<utf8proc_int32_t>(next.code), &state))
            break;
        end += next.length;
        last = next;
    }
    return end;
}

void apply(const Charsmap &map, Text &text) {
    constexpr size_t shorter_than = 6; // bytes; longer clusters are replaced character by character, as in tokenizers
    const std::string &now = text.now();
    std::vector<Text::Change> changes;
    bool changed = false;
    const auto replaced = [&](std::string_view part) {
        const auto to = map.replacement(part);
        if (to) text.expect_room(changes.size() + to->size()), add(changes, count_characters(part), *to);
        changed |= to.has_value();
        return to.has_value();
    };
    for (size_t at = 0; at < now.size();) {
        const size_t end = grapheme_end(now, at);
        const std::string_view whole = std::string_view(now).substr(at, end - at);
        if (whole.size() >= shorter_than || !replaced(whole))
            for (size_t i = at; i < end;) {
                const auto [code, length] = character_at(now, i);
                if (!replaced(std::string_view(now).substr(i, length))) changes.push_back({code, 0});
                i += length;
            }
        at = end;
    }
    if (changed) text.transform(changes);
}

} // namespace

Normalizer charsmap(std::string_view compiled) {
    return [map = std::make_shared<const Charsmap>(compiled)](Text &text) { apply(*map, text); };
}

} // namespace lamina::tokenizer
