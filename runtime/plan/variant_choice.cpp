#include "plan/variant_choice.hpp"

#include <algorithm>

namespace lamina::plan {
namespace {

ChosenVariant take_wanted(const Step &step, Planner &planner, std::string_view wanted) {
    const lamina_layer &contract = *step.call.layer().contract;
    std::string known;
    for (uint32_t v = 0; v < contract.n_variants; ++v) {
        known += std::string(v != 0 ? ", " : "") + contract.variants[v].name;
        if (wanted != contract.variants[v].name) continue;
        Refusal refusal;
        if (auto plan = planner.plan(step.call, v, refusal)) return {v, std::move(plan)};
        throw Error(ErrorCode::input, step.call.where() + ": variant '" + std::string(wanted) +
                                          "' was requested, but it does not fit: " + refusal.why);
    }
    throw Error(ErrorCode::input, step.call.where() + ": layer '" + contract.id + "' has no variant '" +
                                      std::string(wanted) + "'; it has " + known);
}

ChosenVariant take_first(const Step &step, Planner &planner) {
    const lamina_layer &contract = *step.call.layer().contract;
    std::string reasons;
    for (uint32_t v = 0; v < contract.n_variants; ++v) {
        Refusal refusal;
        if (auto plan = planner.plan(step.call, v, refusal)) return {v, std::move(plan)};
        reasons += std::string("; ") + contract.variants[v].name + ": " + refusal.why;
    }
    throw Error(ErrorCode::no_device, step.call.where() + ": no variant of layer '" + contract.id +
                                          "' can compute these shapes on this device" + reasons);
}

// The same variant, planned for a device whose grids are so short along x that its own fold over y. Unchanged if it
// cannot be planned for such a device.
ChosenVariant folded(const Step &step, Planner &planner, ChosenVariant chosen) {
    uint32_t most = 1;
    for (const Dispatch &d : chosen.plan->dispatches) most = std::max(most, d.groups[0]);
    lamina_device device = planner.device();
    device.max_groups[0] = most / 3 + 1;
    try {
        Refusal refusal;
        if (auto plan = plan_layer(step.call, *planner.kernels_of(step.call.layer()), chosen.variant, device, refusal))
            chosen.plan = std::make_shared<const LayerPlan>(std::move(*plan));
    } catch (const Error &) { // its grids cannot fold
    }
    return chosen;
}

} // namespace

std::vector<ChosenVariant> choose_variants(const GraphPlan &plan, Planner &planner, const ProgramOptions &options) {
    std::vector<ChosenVariant> out;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const Step &step = plan.steps[s];
        const std::string_view wanted = s < options.variants.size() ? options.variants[s] : std::string_view();
        ChosenVariant chosen = wanted.empty() ? take_first(step, planner) : take_wanted(step, planner, wanted);
        if (options.folded) chosen = folded(step, planner, std::move(chosen));
        if (options.in_parts)
            if (auto parts = in_parts(step.call, planner, chosen)) chosen = std::move(*parts);
        out.push_back(std::move(chosen));
    }
    return out;
}

std::optional<ChosenVariant> in_parts(const abi::LayerCall &call, Planner &planner, const ChosenVariant &chosen) {
    constexpr uint64_t most_parts = 24; // more take long to run, and show no more
    uint64_t largest = 0;               // of the weights that are bound
    for (const auto *list : {&chosen.plan->dispatches, &chosen.plan->preparation.dispatches})
        for (const Dispatch &d : *list)
            for (const Binding &b : d.bindings)
                if (b.role == LAMINA_WEIGHT || b.role == LAMINA_PREPARED) largest = std::max(largest, b.bytes);
    const auto count = [](const LayerPlan &plan) {
        return plan.dispatches.size() + plan.preparation.dispatches.size();
    };
    const std::shared_ptr<const Kernels> kernels = planner.kernels_of(call.layer());
    lamina_device small = planner.device();
    for (uint64_t limit = largest / most_parts + 1; limit < largest; limit *= 2) try {
            small.max_binding_bytes = limit;
            Refusal refusal;
            auto plan = plan_layer(call, *kernels, chosen.variant, planner.device(), refusal, &small);
            if (plan && count(*plan) > count(*chosen.plan))
                return ChosenVariant{chosen.variant, std::make_shared<const LayerPlan>(std::move(*plan))};
        } catch (const Error &) { // not in such small parts
        }
    return std::nullopt;
}

} // namespace lamina::plan
