#include "proof/target.hpp"

#include "cpu/backend.hpp"
#include "plan/layer_plan.hpp"

#include <lamina/plugin.hpp> // Call::find

#include <map>

namespace lamina::proof {

CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins,
                         const std::shared_ptr<vulkan::Device> &device) {
    CheckTarget target;
    target.device = "vulkan:" + std::to_string(device->info().index);
    target.variants = [](const abi::Layer &layer) {
        std::vector<CheckVariant> out;
        for (uint32_t i = 0; i < layer.contract->n_variants; ++i)
            out.push_back({layer.contract->variants[i].name, layer.contract->variants[i].arithmetic, i == 0});
        return out;
    };
    target.why_not = [device, kernels = std::map<const lamina_layer *, plan::Kernels>()](
                         const abi::LayerCall &call, const std::string &variant) mutable {
        const lamina_layer &contract = *call.layer().contract;
        const plan::Kernels &reflected = kernels.try_emplace(&contract, call.layer()).first->second;
        const uint32_t index = lamina::plugin::Call::find(contract.variants, contract.n_variants, variant);
        std::string why;
        const bool fits = plan::plan_layer(call, reflected, index, device->info().capabilities, why).has_value();
        return fits ? "" : why.empty() ? "the plugin gave no reason" : why;
    };
    target.backend = [plugins, device](model::Safetensors weights) {
        return device->backend(plugins, std::move(weights));
    };
    return target;
}

CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins) {
    CheckTarget target;
    target.device = "cpu";
    target.variants = [plugins](const abi::Layer &layer) -> std::vector<CheckVariant> {
        const abi::Executor *executor = plugins->executor();
        if (executor == nullptr || executor->kernel(layer.id()) == nullptr) return {};
        return {{executor->descriptor->id, LAMINA_F32, false}};
    };
    target.why_not = [](const abi::LayerCall &, const std::string &) { return std::string(); };
    target.backend = [plugins](model::Safetensors weights) {
        return cpu::make_backend(plugins, std::move(weights), plugins->executor());
    };
    return target;
}

} // namespace lamina::proof
