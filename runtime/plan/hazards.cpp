#include "plan/hazards.hpp"

#include <algorithm>

namespace lamina::plan {
namespace {

bool conflict(const Access &a, const Access &b) {
    return a.memory == b.memory && a.begin < b.end && b.begin < a.end && (a.writes || b.writes);
}

} // namespace

std::vector<bool> place_barriers(std::span<const std::vector<Access>> dispatches) {
    std::vector<bool> barriers(dispatches.size(), false);
    std::vector<Access> since; // the last barrier
    for (size_t i = 0; i < dispatches.size(); ++i) {
        const auto &accesses = dispatches[i];
        barriers[i] = std::any_of(accesses.begin(), accesses.end(), [&](const Access &a) {
            return std::any_of(since.begin(), since.end(), [&](const Access &earlier) { return conflict(earlier, a); });
        });
        if (barriers[i]) since.clear();
        since.insert(since.end(), accesses.begin(), accesses.end());
    }
    return barriers;
}

} // namespace lamina::plan
