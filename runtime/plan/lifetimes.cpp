#include "plan/lifetimes.hpp"

#include <algorithm>

namespace lamina::plan {

std::vector<Lifetime> lifetimes_of(const GraphPlan &plan, bool keep_all) {
    std::vector<Lifetime> out(plan.tensors.size());
    for (size_t t = 0; t < out.size(); ++t)
        if (plan.tensors[t].kind == PlannedTensor::Kind::activation)
            out[t].bytes = padded(plan.tensors[t].type.bytes());
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        for (const int32_t t : plan.steps[s].out) {
            Lifetime &lifetime = out[static_cast<size_t>(t)];
            const bool kept = keep_all || plan.tensors[static_cast<size_t>(t)].output;
            lifetime.first = keep_all ? 0 : s;
            lifetime.last = kept ? plan.steps.size() : s;
        }
        for (const int32_t t : plan.steps[s].in)
            if (t != none) out[static_cast<size_t>(t)].last = std::max(out[static_cast<size_t>(t)].last, s);
    }
    return out;
}

MemoryLayout lay_out_memory(const GraphPlan &plan, std::span<const std::vector<uint64_t>> scratch,
                            const ProgramOptions &options, uint64_t align) {
    const uint64_t guards = options.guard ? 2 * guard_bytes : 0;
    MemoryLayout out;
    std::vector<Lifetime> shared;
    std::vector<size_t> sharing; // the blocks that these belong to
    const auto add = [&](Block block, Lifetime lifetime, bool kept) {
        lifetime.bytes += guards;
        block.bytes = lifetime.bytes;
        if (!kept) {
            shared.push_back(options.guard ? Lifetime{lifetime.bytes, 0, plan.steps.size()} : lifetime);
            sharing.push_back(out.blocks.size());
        }
        out.blocks.push_back(std::move(block));
    };
    const std::vector<Lifetime> lifetimes = lifetimes_of(plan, options.keep_all);
    for (size_t t = 0; t < plan.tensors.size(); ++t) {
        const PlannedTensor &tensor = plan.tensors[t];
        if (tensor.kind == PlannedTensor::Kind::activation)
            add({.name = "'" + tensor.name + "'", .tensor = static_cast<int32_t>(t), .at = {}}, lifetimes[t],
                options.keep_all || tensor.output);
    }
    for (size_t s = 0; s < scratch.size(); ++s)
        for (size_t i = 0; i < scratch[s].size(); ++i)
            add({.name = "scratch of '" + plan.steps[s].name + "'", .step = s, .scratch = i, .at = {}},
                {padded(scratch[s][i]), s, s}, false);

    const ArenaLayout arena = lay_out(shared, align);
    out.arena = arena.bytes;
    for (size_t i = 0; i < sharing.size(); ++i) out.blocks[sharing[i]].at = arena.offsets[i];
    return out;
}

} // namespace lamina::plan
