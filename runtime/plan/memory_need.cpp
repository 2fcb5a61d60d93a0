#include "plan/memory_need.hpp"

#include "base/binary_size.hpp"
#include "plan/lifetimes.hpp"

#include <algorithm>

namespace lamina::plan {

using Kind = PlannedTensor::Kind;

namespace {

uint64_t saturated_sum(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

} // namespace

MemoryNeed need_of(const GraphPlan &plan) { return need_of(plan, {}); }

MemoryNeed need_of(const GraphPlan &plan, const ProgramOptions &options) {
    MemoryNeed out;
    for (const PlannedTensor &tensor : plan.tensors) {
        const MemoryRequest request{tensor.name, padded(tensor.type.bytes())};
        if (tensor.kind == Kind::weight) out.weights.push_back(request);
        if (tensor.kind == Kind::state) out.states.push_back({tensor.name, padded(plan.whole(tensor).bytes())});
        if (tensor.kind == Kind::input) out.others.push_back(request);
    }
    const MemoryLayout layout = lay_out_memory(plan, {}, options, 256);
    for (const Block &block : layout.blocks)
        if (!block.at) out.others.push_back({plan.tensors[static_cast<size_t>(block.tensor)].name, block.bytes});
    out.others.push_back({"activations", layout.arena});
    return out;
}

uint64_t MemoryNeed::bytes() const {
    return saturated_sum(saturated_sum(total_bytes(weights), total_bytes(states)), total_bytes(others));
}

const MemoryRequest *MemoryNeed::unbound() const {
    const auto found = std::ranges::find_if(states, [this](const MemoryRequest &s) { return s.bytes > most_bound; });
    return found == states.end() ? nullptr : &*found;
}

void expect_room(const MemoryNeed &need, const std::string &what, const std::string &device,
                 const std::string &advice) {
    if (const MemoryRequest *state = need.unbound())
        throw Error(ErrorCode::memory, what + " needs '" + state->name + "' of " + binary_size(state->bytes) +
                                           "; kernels on " + device + " can bind at most " +
                                           binary_size(need.most_bound) + " of memory as one tensor. " + advice);
    const uint64_t all = need.bytes();
    if (!need.free || all <= *need.free) return;
    std::vector<MemoryRequest> requests;
    for (const auto *list : {&need.weights, &need.states, &need.others})
        for (const MemoryRequest &r : *list) requests.push_back({"'" + r.name + "'", r.bytes});
    throw Error(ErrorCode::memory, what + " needs " + binary_size(all) + " on " + device + " (weights " +
                                       binary_size(total_bytes(need.weights)) + ", caches " +
                                       binary_size(total_bytes(need.states)) + ", the rest " +
                                       binary_size(total_bytes(need.others)) + "); " + binary_size(*need.free) +
                                       " are free. Biggest: " + biggest(requests) + ". " + advice);
}

uint64_t total_bytes(std::span<const MemoryRequest> requests) {
    uint64_t total = 0;
    for (const MemoryRequest &r : requests) total = saturated_sum(total, r.bytes);
    return total;
}

std::string biggest(std::span<const MemoryRequest> requests) {
    std::vector<const MemoryRequest *> sorted;
    for (const MemoryRequest &r : requests) sorted.push_back(&r);
    const size_t n = std::min<size_t>(3, sorted.size());
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n), sorted.end(),
                      [](const MemoryRequest *a, const MemoryRequest *b) { return a->bytes > b->bytes; });
    std::string text;
    for (size_t i = 0; i < n; ++i)
        text += (i != 0 ? ", " : "") + sorted[i]->name + " (" + binary_size(sorted[i]->bytes) + ")";
    return text;
}

} // namespace lamina::plan
