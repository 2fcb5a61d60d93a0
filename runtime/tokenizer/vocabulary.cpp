#include "tokenizer/vocabulary.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <bit>
#include <functional>

namespace lamina::tokenizer {
namespace {

// Published vocabularies skip some ids, but a file that skips millions is damaged.
constexpr int64_t highest_id = 1 << 26, highest_gap = 1 << 20;

// Lengths are stored seven bits to a byte, the lowest first; all bytes but the last have the highest bit.
constexpr unsigned length_bits = 7;
constexpr size_t length_mask = (1u << length_bits) - 1;

uint32_t hash_of(std::string_view token) { return static_cast<uint32_t>(std::hash<std::string_view>()(token)); }

} // namespace

void Vocabulary::reserve(size_t tokens, size_t bytes) {
    bytes_.reserve(tokens + bytes + bytes / (length_mask + 1)); // lengths of more than one byte belong to long tokens
    places_.reserve(tokens);
    slots_.assign(std::bit_ceil(tokens + tokens / 3), vacant);
}

void Vocabulary::add(std::string_view token, int64_t id) {
    const auto refuse = [&](const std::string &why) {
        throw Error(ErrorCode::input, "the token " + in_quotes(token) + " of id " + std::to_string(id) + ": " + why);
    };
    static_assert(highest_id < id_mask, "a slot has room for every id, and none of them is vacant");
    if (id < 0 || id > highest_id || id > static_cast<int64_t>(places_.capacity()) + highest_gap)
        refuse("expected an id from 0 to " +
               std::to_string(std::min(highest_id, static_cast<int64_t>(places_.capacity()) + highest_gap)));
    if (bytes_.size() + 5 + token.size() >= UINT32_MAX) refuse("the vocabulary has more than 4 GiB of text");
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    const uint32_t hash = hash_of(token);
    Slot &slot = slots_[slot_of(token, hash)];
    if (slot != vacant) refuse("the token already has the id " + std::to_string(slot & id_mask));
    const auto index = static_cast<size_t>(id);
    if (index >= places_.size()) places_.resize(index + 1, absent);
    if (places_[index] != absent) refuse("the id is already used by " + in_quotes(text_at(places_[index])));
    places_[index] = static_cast<uint32_t>(bytes_.size());
    size_t length = token.size();
    for (; length > length_mask; length >>= length_bits) bytes_ += static_cast<char>(length | (length_mask + 1));
    bytes_ += static_cast<char>(length);
    bytes_ += token;
    slot = (hash & ~id_mask) | static_cast<uint32_t>(id);
    ++size_;
}

std::optional<int32_t> Vocabulary::id(std::string_view token) const {
    if (slots_.empty()) return std::nullopt;
    const Slot found = slots_[slot_of(token, hash_of(token))];
    return found == vacant ? std::nullopt : std::optional(static_cast<int32_t>(found & id_mask));
}

std::optional<std::string_view> Vocabulary::token(int32_t id) const {
    if (id < 0 || id >= end() || places_[static_cast<size_t>(id)] == absent) return std::nullopt;
    return text_at(places_[static_cast<size_t>(id)]);
}

std::string_view Vocabulary::text_at(uint32_t place) const {
    size_t length = 0;
    for (unsigned shift = 0;; shift += length_bits) {
        const size_t byte = static_cast<unsigned char>(bytes_[place++]);
        length |= (byte & length_mask) << shift;
        if (byte <= length_mask) return std::string_view(bytes_).substr(place, length);
    }
}

// The slot that holds the token, or the vacant one where it would go.
size_t Vocabulary::slot_of(std::string_view token, uint32_t hash) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    const auto is_it = [&](Slot slot) {
        return ((slot ^ hash) & ~id_mask) == 0 && text_at(places_[slot & id_mask]) == token;
    };
    while (slots_[at] != vacant && !is_it(slots_[at])) at = (at + 1) & mask;
    return at;
}

void Vocabulary::grow() {
    const std::vector<Slot> before = std::move(slots_);
    slots_.assign(std::max<size_t>(64, 2 * before.size()), vacant);
    for (const Slot slot : before) {
        if (slot == vacant) continue;
        const std::string_view token = text_at(places_[slot & id_mask]);
        slots_[slot_of(token, hash_of(token))] = slot;
    }
}

} // namespace lamina::tokenizer
