// Merges by pair of tokens: a hash table with linear probing, because every pair of every word is looked up.
#pragma once

#include "tokenizer/bpe.hpp"

#include <cstdint>
#include <vector>

namespace lamina::tokenizer {

class MergeTable {
  public:
    struct Entry {
        uint64_t pair = vacant;
        uint32_t rank = 0;
        int32_t made = 0;
    };

    explicit MergeTable(const std::vector<Merge> &merges) : slots_(merges.size() + merges.size() / 2 + 2) {
        for (const Merge &merge : merges) {
            Entry &slot = slots_[slot_of(key(merge.left, merge.right))];
            slot = {key(merge.left, merge.right), merge.rank, merge.made};
        }
    }

    [[nodiscard]] const Entry *find(int32_t left, int32_t right) const {
        const Entry &slot = slots_[slot_of(key(left, right))];
        return slot.pair == vacant ? nullptr : &slot;
    }

  private:
    static constexpr uint64_t vacant = UINT64_MAX; // not a pair: ids are not negative

    static uint64_t key(int32_t left, int32_t right) {
        return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
    }
    [[nodiscard]] size_t slot_of(uint64_t pair) const {
        const uint64_t hash = pair * 0x9E3779B97F4A7C15u >> 32u; // Fibonacci hashing
        auto slot = static_cast<size_t>(hash * slots_.size() >> 32u);
        while (slots_[slot].pair != vacant && slots_[slot].pair != pair)
            slot = slot + 1 == slots_.size() ? 0 : slot + 1;
        return slot;
    }

    std::vector<Entry> slots_; // a third of them vacant
};

} // namespace lamina::tokenizer
