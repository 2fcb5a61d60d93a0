#include "plan/device.hpp"

#include "abi/contract.hpp"
#include "plan/variant_choice.hpp"

namespace lamina::plan {
namespace {

uint32_t index_of(const abi::LayerCall &call, const std::string &variant) {
    const lamina_layer &contract = *call.layer().contract;
    return abi::place_of_name(contract.variants, contract.n_variants, variant);
}

Pipeline pipeline_of(const Dispatch &dispatch) {
    Pipeline out{dispatch.kernel, {}};
    for (const lamina_spec &s : dispatch.specs) out.constants.emplace_back(s.id, s.bits);
    return out;
}

} // namespace

std::vector<Variant> KernelDevice::variants(const abi::Layer &layer) const {
    std::vector<Variant> out;
    for (uint32_t i = 0; i < layer.contract->n_variants; ++i)
        out.push_back({layer.contract->variants[i].name, layer.contract->variants[i].arithmetic,
                       i == 0 && layer.pattern == nullptr}); // where a fusion has none, the layers that it fuses run
    return out;
}

Refusal KernelDevice::why_not(const abi::LayerCall &call, const std::string &variant) {
    Refusal refusal;
    (void)planner_->plan(call, index_of(call, variant), refusal);
    return refusal;
}

std::set<Pipeline> KernelDevice::pipelines(const abi::LayerCall &call, const std::string &variant) {
    std::set<Pipeline> out;
    Refusal refusal;
    if (const auto plan = planner_->plan(call, index_of(call, variant), refusal))
        for (const auto *list : {&plan->dispatches, &plan->preparation.dispatches})
            for (const Dispatch &d : *list) out.insert(pipeline_of(d));
    return out;
}

size_t KernelDevice::code_size(const abi::LayerCall &call, const std::string &variant) {
    size_t words = 0;
    Refusal refusal;
    if (const auto plan = planner_->plan(call, index_of(call, variant), refusal))
        for (const Dispatch &d : plan->dispatches) words += call.layer().contract->kernels[d.kernel].words;
    return words;
}

bool KernelDevice::binds_parts(const abi::LayerCall &call, const std::string &variant) {
    const uint32_t index = index_of(call, variant);
    Refusal refusal;
    const auto whole = planner_->plan(call, index, refusal);
    return whole && in_parts(call, *planner_, {index, whole}).has_value();
}

} // namespace lamina::plan
