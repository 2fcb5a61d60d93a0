#include "base/nearest.hpp"

#include <algorithm>

namespace lamina {
namespace {

constexpr size_t longest_name = 256; // longer names are not typing errors; this also limits the work for hostile input

// Optimal string alignment distance (Levenshtein with swaps of neighbours), over bytes.
size_t edits(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(above);
        above.swap(row);
    }
    return above[b.size()];
}

} // namespace

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string> &candidates) {
    const size_t allowed = std::max<size_t>(1, name.size() / 3);
    size_t fewest = allowed + 1;
    std::optional<std::string> best;
    if (name.size() > longest_name) return best;
    for (const std::string &candidate : candidates) {
        const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
        if (longer - shorter >= fewest) continue; // at least this many letters were added or dropped
        const size_t distance = edits(name, candidate);
        if (distance < fewest) fewest = distance, best = candidate;
    }
    return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string> &candidates) {
    const auto best = nearest(name, candidates);
    return best ? "; did you mean '" + *best + "'?" : "";
}

std::string instead_of(std::string_view name, const std::vector<std::string> &candidates) {
    constexpr size_t shown = 20;
    if (const std::string meant = did_you_mean(name, candidates); !meant.empty() || candidates.empty()) return meant;
    if (candidates.size() == 1) return "; there is only " + candidates.front();
    std::string out = "; there are ";
    const size_t last = candidates.size() - 1;
    for (size_t i = 0; i <= std::min(last, shown); ++i) {
        if (i == shown && last > shown) return out + " and " + std::to_string(candidates.size() - shown) + " more";
        out += (i == 0 ? "" : i == last ? " and " : ", ") + candidates[i];
    }
    return out;
}

} // namespace lamina
