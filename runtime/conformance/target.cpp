#include "conformance/target.hpp"

#include "abi/contract.hpp"
#include "cpu/backend.hpp"
#include "interpreter/backend.hpp"
#include "plan/layer_plan.hpp"
#include "plan/variant_choice.hpp"

#include <map>
#include <optional>
#include <set>

namespace lamina::conformance {

namespace {

// Plans variants as the device would run them. Kernels are reflected once.
class Planner {
  public:
    explicit Planner(const lamina_device &device) : device_(device) {}

    std::optional<plan::LayerPlan> plan(const abi::LayerCall &call, const std::string &variant,
                                        plan::Refusal &refusal) {
        const lamina_layer &contract = *call.layer().contract;
        const plan::Kernels &reflected = kernels_.try_emplace(&contract, call.layer()).first->second;
        const uint32_t index = abi::place_of_name(contract.variants, contract.n_variants, variant);
        return plan::plan_layer(call, reflected, index, device_, refusal);
    }

    bool binds_parts(const abi::LayerCall &call, const std::string &variant) {
        plan::Refusal refusal;
        auto whole = plan(call, variant, refusal);
        if (!whole) return false;
        const lamina_layer &contract = *call.layer().contract;
        return plan::in_parts(call, kernels_.at(&contract), device_,
                              {abi::place_of_name(contract.variants, contract.n_variants, variant), std::move(*whole)})
            .has_value();
    }

  private:
    lamina_device device_;
    std::map<const lamina_layer *, plan::Kernels> kernels_;
};

// The kernel's number and its specialization constants: "2 0=1 5=16".
std::string pipeline_of(const plan::Dispatch &dispatch) {
    std::string out = std::to_string(dispatch.kernel);
    for (const lamina_spec &s : dispatch.specs) out += " " + std::to_string(s.id) + "=" + std::to_string(s.bits);
    return out;
}

// Every variant of a layer, planned for such a device.
CheckTarget target_with_kernels(const lamina_device &device) {
    CheckTarget target;
    target.has_kernels = true;
    target.variants = [](const abi::Layer &layer) {
        std::vector<CheckVariant> out;
        for (uint32_t i = 0; i < layer.contract->n_variants; ++i)
            out.push_back({layer.contract->variants[i].name, layer.contract->variants[i].arithmetic, i == 0});
        return out;
    };
    const auto planner = std::make_shared<Planner>(device);
    target.why_not = [planner](const abi::LayerCall &call, const std::string &variant) {
        plan::Refusal refusal;
        if (!planner->plan(call, variant, refusal) && refusal.why.empty()) refusal.why = "the plugin gave no reason";
        return refusal;
    };
    target.pipelines = [planner](const abi::LayerCall &call, const std::string &variant) {
        std::set<std::string> out;
        plan::Refusal refusal;
        if (const auto plan = planner->plan(call, variant, refusal))
            for (const auto *list : {&plan->dispatches, &plan->preparation.dispatches})
                for (const plan::Dispatch &d : *list) out.insert(pipeline_of(d));
        return out;
    };
    target.binds_parts = [planner](const abi::LayerCall &call, const std::string &variant) {
        return planner->binds_parts(call, variant);
    };
    target.code_size = [planner](const abi::LayerCall &call, const std::string &variant) {
        size_t words = 0;
        plan::Refusal refusal;
        if (const auto plan = planner->plan(call, variant, refusal))
            for (const plan::Dispatch &d : plan->dispatches) words += call.layer().contract->kernels[d.kernel].words;
        return words;
    };
    return target;
}

} // namespace

CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins,
                         const std::shared_ptr<vulkan::Device> &device) {
    CheckTarget target = target_with_kernels(device->info().capabilities);
    target.device = "vulkan:" + std::to_string(device->info().index);
    target.name = device->info().name;
    target.backend = [plugins, device](model::Weights weights) { return device->backend(plugins, std::move(weights)); };
    target.another = [plugins, device] {
        const bool software = device->info().kind == vulkan::DeviceInfo::Kind::software;
        return check_target(plugins, software ? device->again() : device);
    };
    return target;
}

CheckTarget interpreted(const std::shared_ptr<const abi::Registry> &plugins, uint32_t subgroup) {
    CheckTarget target = target_with_kernels(interpreter::capabilities(subgroup));
    target.device = "interpreter";
    target.name = "kernels without a driver";
    target.strict = true;
    target.backend = [plugins, subgroup](model::Weights weights) {
        return interpreter::make_backend(plugins, std::move(weights), subgroup);
    };
    return target;
}

CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins) {
    CheckTarget target;
    target.device = "cpu";
    target.name = "the CPU";
    target.fallback = "reference";
    target.limits = {2e6, 0x1p22}; // a session on the CPU starts within milliseconds
    target.variants = [plugins](const abi::Layer &layer) -> std::vector<CheckVariant> {
        std::vector<CheckVariant> out;
        if (const abi::Executor *executor = plugins->executor())
            for (const abi::CpuVariant &v : executor->variants(*layer.contract))
                out.push_back({v.name, v.arithmetic, false});
        return out;
    };
    target.why_not = [plugins](const abi::LayerCall &call, const std::string &variant) {
        return plan::Refusal{cpu::why_not(call, variant, plugins->executor())};
    };
    target.pipelines = [](const abi::LayerCall &, const std::string &) { return std::set<std::string>(); };
    target.code_size = [](const abi::LayerCall &, const std::string &) { return size_t{0}; };
    target.backend = [plugins](model::Weights weights) {
        return cpu::make_backend(plugins, std::move(weights), plugins->executor());
    };
    return target;
}

} // namespace lamina::conformance
