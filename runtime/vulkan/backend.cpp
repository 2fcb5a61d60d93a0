#include "vulkan/backend.hpp"

#include "vulkan/program.hpp"

#include <map>

namespace lamina::vulkan {

VulkanBackend::VulkanBackend(std::shared_ptr<LogicalDevice> device, std::shared_ptr<Pipelines> pipelines,
                             std::shared_ptr<plan::Planner> planner, model::Weights weights)
    : device_(std::move(device)), pipelines_(std::move(pipelines)), planner_(std::move(planner)),
      residents_(device_, std::move(weights)), preparations_(device_) {}

std::unique_ptr<plan::Program> VulkanBackend::compile(plan::GraphPlan plan, const plan::ProgramOptions &options) {
    const std::lock_guard lock(mutex_);
    std::vector<plan::ChosenVariant> steps = plan::choose_variants(plan, *planner_, options);
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
    out.most_bound = device_->info().capabilities.max_binding_bytes;
    std::erase_if(out.weights, [&](const MemoryRequest &r) { return residents_.has_weight(r.name); });
    std::erase_if(out.states, [&](const MemoryRequest &r) { return residents_.has_state(r.name, r.bytes); });
    return {std::move(out)};
}

VulkanBackend::ProgramPipelines VulkanBackend::build_pipelines(const plan::GraphPlan &plan,
                                                               std::span<const plan::ChosenVariant> steps) {
    std::vector<PipelineRequest> requests;
    std::map<const abi::Layer *, std::shared_ptr<const plan::Kernels>> reflected; // until they are built
    const auto request = [&](const abi::LayerCall &call, std::span<const plan::Dispatch> dispatches) {
        std::shared_ptr<const plan::Kernels> &kernels = reflected[&call.layer()];
        if (kernels == nullptr) kernels = planner_->kernels_of(call.layer());
        for (const plan::Dispatch &d : dispatches) {
            const lamina_kernel &kernel = call.layer().contract->kernels[d.kernel];
            requests.push_back(
                {&kernel, &(*kernels)[d.kernel], d.specs, call.where() + ", kernel '" + kernel.name + "'"});
        }
    };
    for (size_t s = 0; s < steps.size(); ++s) request(plan.steps[s].call, steps[s].plan->dispatches);
    const auto of_run = static_cast<std::ptrdiff_t>(requests.size());
    for (size_t s = 0; s < steps.size(); ++s) request(plan.steps[s].call, steps[s].plan->preparation.dispatches);
    const std::vector<Pipeline> all = pipelines_->build(requests);
    return {{all.begin(), all.begin() + of_run}, {all.begin() + of_run, all.end()}};
}

std::vector<Prepared> VulkanBackend::prepare(const plan::GraphPlan &plan, std::span<const plan::ChosenVariant> steps,
                                             std::span<const Pipeline> pipelines) {
    std::vector<Prepared> out(steps.size());
    for (size_t s = 0; s < steps.size(); ++s) {
        const size_t n = steps[s].plan->preparation.dispatches.size();
        if (n == 0) continue;
        out[s] = preparations_.of(plan.steps[s], plan, *steps[s].plan, pipelines.first(n), residents_);
        pipelines = pipelines.subspan(n);
    }
    return out;
}

} // namespace lamina::vulkan
