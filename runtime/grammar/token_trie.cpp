#include "grammar/token_trie.hpp"

#include <algorithm>
#include <utility>

namespace lamina::grammar {

TokenTrie::TokenTrie(std::vector<std::string> bytes) : bytes_(std::move(bytes)), next_(bytes_.size(), -1) {
    std::vector<int32_t> order;
    for (size_t i = 0; i < bytes_.size(); ++i)
        if (!bytes_[i].empty()) order.push_back(static_cast<int32_t>(i));
    std::ranges::stable_sort(order, {}, [&](int32_t token) -> const std::string & { return bytes_of(token); });
    std::vector<size_t> open; // nodes that lead to the last token, by depth
    const auto close = [&](size_t depth) {
        for (; open.size() > depth; open.pop_back()) nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
    };
    int32_t last = -1;
    for (const int32_t token : order) {
        const std::string &text = bytes_of(token);
        longest_ = std::max(longest_, text.size());
        if (last >= 0 && bytes_of(last) == text) {
            next_[static_cast<size_t>(last)] = token;
            last = token;
            continue;
        }
        size_t shared = 0;
        if (last >= 0)
            shared = static_cast<size_t>(std::ranges::mismatch(bytes_of(last), text).in1 - bytes_of(last).begin());
        close(shared);
        for (size_t i = shared; i < text.size(); ++i) {
            open.push_back(nodes_.size());
            nodes_.push_back({.end = 0,
                              .depth = static_cast<uint32_t>(i + 1),
                              .token = i + 1 == text.size() ? token : -1,
                              .byte = static_cast<uint8_t>(text[i])});
        }
        last = token;
    }
    close(0);
}

} // namespace lamina::grammar
