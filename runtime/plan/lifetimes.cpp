#include "plan/lifetimes.hpp"

#include <algorithm>

namespace lamina::plan {

std::vector<Lifetime> lifetimes_of(const GraphPlan &plan, bool keep_all) {
    std::vector<Lifetime> out(plan.tensors.size());
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        for (const int32_t t : plan.steps[s].out) {
            const PlannedTensor &tensor = plan.tensors[static_cast<size_t>(t)];
            const bool kept = keep_all || tensor.output;
            // The same 16 bytes of padding as every tensor on a device: see lamina_ref.
            out[static_cast<size_t>(t)] = {(tensor.type.bytes() + 15) / 16 * 16, keep_all ? 0 : s,
                                           kept ? plan.steps.size() : s};
        }
        for (const int32_t t : plan.steps[s].in)
            if (t != none) out[static_cast<size_t>(t)].last = std::max(out[static_cast<size_t>(t)].last, s);
    }
    return out;
}

} // namespace lamina::plan
