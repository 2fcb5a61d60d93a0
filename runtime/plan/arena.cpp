#include "plan/arena.hpp"

#include <algorithm>
#include <numeric>

namespace lamina::plan {

ArenaLayout lay_out(std::span<const Lifetime> lifetimes, uint64_t align) {
    const auto padded = [&](size_t i) { return (lifetimes[i].bytes + align - 1) / align * align; };
    std::vector<size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

    ArenaLayout layout;
    layout.offsets.assign(lifetimes.size(), 0);
    std::vector<size_t> placed;
    for (const size_t i : order) {
        std::vector<size_t> rivals; // alive at the same time, by offset
        for (const size_t j : placed)
            if (lifetimes[j].first <= lifetimes[i].last && lifetimes[i].first <= lifetimes[j].last) rivals.push_back(j);
        std::sort(rivals.begin(), rivals.end(),
                  [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; });
        uint64_t offset = 0;
        for (const size_t j : rivals) {
            if (offset + padded(i) <= layout.offsets[j]) break;
            offset = std::max(offset, layout.offsets[j] + padded(j));
        }
        layout.offsets[i] = offset;
        layout.bytes = std::max(layout.bytes, offset + padded(i));
        placed.push_back(i);
    }
    return layout;
}

} // namespace lamina::plan
