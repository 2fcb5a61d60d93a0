// A trie over bytes. Its edges are in one hash table.
#pragma once

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

class Trie {
  public:
    static constexpr uint32_t root = 0, no_node = UINT32_MAX;
    static constexpr int32_t no_value = -1;

    // Replaces the value if the text is already there. Throws Error(input) for a text of more than 4096 bytes, which
    // would be compared with a text of the user at each of its positions.
    void add(std::string_view text, int32_t value) {
        if (text.size() > longest)
            throw Error(ErrorCode::input, "the token " + in_quotes(text) + ": expected at most " +
                                              std::to_string(longest) + " bytes, found " + std::to_string(text.size()));
        uint32_t node = root;
        for (const char byte : text) {
            if (2 * (values_.size() + 1) > slots_.size()) grow();
            Edge &edge = slots_[slot_of(key(node, byte))];
            if (edge.key == vacant) {
                edge = {key(node, byte), static_cast<uint32_t>(values_.size())};
                values_.push_back(no_value);
            }
            node = edge.to;
        }
        values_[node] = value;
    }

    [[nodiscard]] uint32_t next(uint32_t node, char byte) const {
        if (slots_.empty()) return no_node;
        const Edge &edge = slots_[slot_of(key(node, byte))];
        return edge.key == vacant ? no_node : edge.to;
    }
    [[nodiscard]] int32_t value(uint32_t node) const { return values_[node]; } // no_value: no text ends here

  private:
    static constexpr size_t longest = 4096; // bytes
    struct Edge {
        uint64_t key = vacant;
        uint32_t to = no_node;
    };
    static constexpr uint64_t vacant = UINT64_MAX;

    static uint64_t key(uint32_t node, char byte) { return uint64_t{node} << 8 | static_cast<unsigned char>(byte); }
    [[nodiscard]] size_t slot_of(uint64_t key) const {
        const size_t mask = slots_.size() - 1;
        size_t slot = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & mask; // Fibonacci hashing
        while (slots_[slot].key != vacant && slots_[slot].key != key) slot = (slot + 1) & mask;
        return slot;
    }
    void grow() {
        const std::vector<Edge> before = std::move(slots_);
        slots_.assign(before.empty() ? 64 : 2 * before.size(), Edge{});
        for (const Edge &edge : before)
            if (edge.key != vacant) slots_[slot_of(edge.key)] = edge;
    }

    std::vector<int32_t> values_{no_value}; // by node
    std::vector<Edge> slots_;               // with linear probing; a power of two
};

} // namespace lamina::tokenizer
