#include "vulkan/backend.hpp"

#include "vulkan/program.hpp"

namespace lamina::vulkan {

VulkanBackend::VulkanBackend(std::shared_ptr<LogicalDevice> device, std::shared_ptr<Pipelines> pipelines,
                             std::shared_ptr<const abi::Registry> plugins, model::Safetensors weights)
    : device_(std::move(device)), pipelines_(std::move(pipelines)), plugins_(std::move(plugins)),
      residents_(device_, std::move(weights)) {}

std::unique_ptr<plan::Program> VulkanBackend::compile(plan::GraphPlan plan, const plan::ProgramOptions &options) {
    const std::lock_guard lock(mutex_);
    std::vector<ChosenVariant> steps;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const std::string_view wanted = s < options.variants.size() ? options.variants[s] : std::string_view();
        steps.push_back(
            choose_variant(plan.steps[s], kernels(plan.steps[s].call.layer()), device_->info().capabilities, wanted));
    }
    const std::vector<Pipeline> pipelines = build_pipelines(plan, steps);
    return std::make_unique<VulkanProgram>(device_, pipelines_, residents_, std::move(plan), std::move(steps),
                                           pipelines, options);
}

const plan::Kernels &VulkanBackend::kernels(const abi::Layer &layer) {
    return kernels_.try_emplace(layer.contract, layer).first->second;
}

std::vector<Pipeline> VulkanBackend::build_pipelines(const plan::GraphPlan &plan,
                                                     std::span<const ChosenVariant> steps) {
    std::vector<PipelineRequest> requests;
    for (size_t s = 0; s < steps.size(); ++s) {
        const abi::LayerCall &call = plan.steps[s].call;
        for (const plan::Dispatch &d : steps[s].plan.dispatches) {
            const lamina_kernel &kernel = call.layer().contract->kernels[d.kernel];
            requests.push_back(
                {&kernel, &kernels(call.layer())[d.kernel], d.specs, call.where() + ", kernel '" + kernel.name + "'"});
        }
    }
    return pipelines_->build(requests);
}

} // namespace lamina::vulkan
