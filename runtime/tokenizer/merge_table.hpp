// Merges by pair of tokens. It is an array, because vocabularies are large and a hash table would leave room.
#pragma once

#include "tokenizer/bpe.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lamina::tokenizer {

class MergeTable {
  public:
    struct Entry {
        int32_t right; // the second token of the pair
        uint32_t rank;
        int32_t made;
    };

    explicit MergeTable(const std::vector<Merge> &merges) : entries_(merges.size()) {
        int32_t end = 0;
        for (const Merge &merge : merges) end = std::max(end, merge.left + 1);
        ends_.assign(static_cast<size_t>(end) + 1, 0);
        for (const Merge &merge : merges) ++ends_[index_of(merge.left) + 1];
        for (size_t left = 1; left < ends_.size(); ++left) ends_[left] += ends_[left - 1];
        // Until here, these are where the entries of each token begin. They move to the end, entry by entry.
        for (const Merge &merge : merges)
            entries_[ends_[index_of(merge.left)]++] = {merge.right, merge.rank, merge.made};
        size_t begin = 0;
        for (const uint32_t at : ends_) {
            const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(begin);
            std::stable_sort(first, entries_.begin() + at,
                             [](const Entry &a, const Entry &b) { return a.right < b.right; });
            begin = at;
        }
    }

    [[nodiscard]] const Entry *find(int32_t left, int32_t right) const {
        if (index_of(left) >= ends_.size()) return nullptr;
        const Entry *const first = entries_.data() + (left == 0 ? 0 : ends_[index_of(left) - 1]);
        const Entry *const last = entries_.data() + ends_[index_of(left)];
        const Entry *const after = std::upper_bound(
            first, last, right, [](int32_t wanted, const Entry &entry) { return wanted < entry.right; });
        return after == first || after[-1].right != right ? nullptr : after - 1; // of equals, the one that came last
    }

  private:
    static size_t index_of(int32_t token) { return static_cast<size_t>(token); }

    std::vector<Entry> entries_; // by left token, then by right token
    std::vector<uint32_t> ends_; // of the entries of each left token, which begin where those of the one before end
};

} // namespace lamina::tokenizer
