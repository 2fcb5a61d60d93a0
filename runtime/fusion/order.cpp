#include "fusion/order.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>

namespace lamina::fusion {
namespace {

constexpr size_t no_group = SIZE_MAX;

} // namespace

std::optional<std::vector<Place>> order(const plan::GraphPlan &plan, std::span<const Match> matches) {
    // Every step is its own group, or its match's; a group has the number of its last step.
    std::vector<size_t> group(plan.steps.size()), match_of(plan.steps.size(), no_group);
    for (size_t s = 0; s < group.size(); ++s) group[s] = s;
    for (size_t m = 0; m < matches.size(); ++m) {
        const size_t last = std::ranges::max(matches[m].steps);
        match_of[last] = m;
        for (const size_t s : matches[m].steps) group[s] = last;
    }

    std::vector<std::vector<size_t>> after(plan.steps.size()); // groups that wait for this one
    std::vector<size_t> waits_for(plan.steps.size());
    std::vector<size_t> last_use(plan.tensors.size(), no_group); // group that computed a tensor, or used a state
    const auto follow = [&](int32_t tensor, size_t g) {
        if (tensor == plan::none) return;
        const size_t before = last_use[static_cast<size_t>(tensor)];
        if (before != no_group && before != g) after[before].push_back(g), ++waits_for[g];
    };
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const plan::Step &step = plan.steps[s];
        for (const auto *list : {&step.in, &step.state})
            for (const int32_t t : *list) follow(t, group[s]);
        for (const auto *list : {&step.out, &step.state})
            for (const int32_t t : *list)
                if (t != plan::none) last_use[static_cast<size_t>(t)] = group[s];
    }

    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    size_t groups = 0;
    for (size_t s = 0; s < group.size(); ++s) {
        if (group[s] != s) continue;
        ++groups;
        if (waits_for[s] == 0) ready.push(s);
    }
    std::vector<Place> out;
    while (!ready.empty()) {
        const size_t g = ready.top();
        ready.pop();
        out.push_back(match_of[g] == no_group ? Place{false, g} : Place{true, match_of[g]});
        for (const size_t next : after[g])
            if (--waits_for[next] == 0) ready.push(next);
    }
    if (out.size() != groups) return std::nullopt;
    return out;
}

} // namespace lamina::fusion
