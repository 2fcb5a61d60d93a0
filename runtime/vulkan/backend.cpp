#include "vulkan/backend.hpp"

#include "vulkan/program.hpp"

namespace lamina::vulkan {

VulkanBackend::VulkanBackend(std::shared_ptr<LogicalDevice> device, std::shared_ptr<Pipelines> pipelines,
                             std::shared_ptr<const abi::Registry> plugins, model::Weights weights)
    : device_(std::move(device)), pipelines_(std::move(pipelines)), plugins_(std::move(plugins)),
      residents_(device_, std::move(weights)), preparations_(device_) {}

std::unique_ptr<plan::Program> VulkanBackend::compile(plan::GraphPlan plan, const plan::ProgramOptions &options) {
    const std::lock_guard lock(mutex_);
    std::vector<plan::ChosenVariant> steps;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const std::string_view wanted = s < options.variants.size() ? options.variants[s] : std::string_view();
        const plan::Kernels &kernels = kernels_of(plan.steps[s].call.layer());
        const lamina_device &device = device_->info().capabilities;
        steps.push_back(plan::choose_variant(plan.steps[s], kernels, device, wanted));
        if (options.folded) steps.back() = plan::folded(plan.steps[s], kernels, device, std::move(steps.back()));
        if (options.in_parts)
            if (auto parts = plan::in_parts(plan.steps[s].call, kernels, device, steps.back()))
                steps.back() = std::move(*parts);
    }
    // Held from here on, so that no weight is uploaded for a preparation and then uploaded again.
    const std::map<std::string, Region> weights =
        residents_.weights(weights_of(plan, steps), options.guard ? plan::guard_bytes : 0);
    const ProgramPipelines pipelines = build_pipelines(plan, steps);
    std::vector<Prepared> prepared = prepare(plan, steps, pipelines.preparation);
    return std::make_unique<VulkanProgram>(device_, pipelines_, residents_, std::move(plan), std::move(steps),
                                           pipelines.run, std::move(prepared), options);
}

std::vector<plan::MemoryNeed> VulkanBackend::need(const plan::GraphPlan &plan) {
    const std::lock_guard lock(mutex_);
    plan::MemoryNeed out = plan::need_of(plan);
    out.free = free_bytes(*device_);
    std::erase_if(out.weights, [&](const MemoryRequest &r) { return residents_.has_weight(r.name); });
    std::erase_if(out.states, [&](const MemoryRequest &r) { return residents_.has_state(r.name, r.bytes); });
    return {std::move(out)};
}

const plan::Kernels &VulkanBackend::kernels_of(const abi::Layer &layer) {
    return kernels_.try_emplace(layer.contract, layer).first->second;
}

VulkanBackend::ProgramPipelines VulkanBackend::build_pipelines(const plan::GraphPlan &plan,
                                                               std::span<const plan::ChosenVariant> steps) {
    std::vector<PipelineRequest> requests;
    const auto request = [&](const abi::LayerCall &call, std::span<const plan::Dispatch> dispatches) {
        for (const plan::Dispatch &d : dispatches) {
            const lamina_kernel &kernel = call.layer().contract->kernels[d.kernel];
            requests.push_back({&kernel, &kernels_of(call.layer())[d.kernel], d.specs,
                                call.where() + ", kernel '" + kernel.name + "'"});
        }
    };
    for (size_t s = 0; s < steps.size(); ++s) request(plan.steps[s].call, steps[s].plan.dispatches);
    const auto of_run = static_cast<std::ptrdiff_t>(requests.size());
    for (size_t s = 0; s < steps.size(); ++s) request(plan.steps[s].call, steps[s].plan.preparation.dispatches);
    const std::vector<Pipeline> all = pipelines_->build(requests);
    return {{all.begin(), all.begin() + of_run}, {all.begin() + of_run, all.end()}};
}

std::vector<Prepared> VulkanBackend::prepare(const plan::GraphPlan &plan, std::span<const plan::ChosenVariant> steps,
                                             std::span<const Pipeline> pipelines) {
    std::vector<Prepared> out(steps.size());
    for (size_t s = 0; s < steps.size(); ++s) {
        const size_t n = steps[s].plan.preparation.dispatches.size();
        if (n == 0) continue;
        out[s] = preparations_.of(plan.steps[s], plan, steps[s].plan, pipelines.first(n), residents_);
        pipelines = pipelines.subspan(n);
    }
    return out;
}

} // namespace lamina::vulkan
