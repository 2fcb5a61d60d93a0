// A Vulkan device with one model's weights: compiles planned graphs into programs.
#pragma once

#include "plan/variant_choice.hpp"
#include "vulkan/pipelines.hpp"
#include "vulkan/preparations.hpp"
#include "vulkan/residents.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lamina::vulkan {

class VulkanBackend final : public plan::Backend {
  public:
    VulkanBackend(std::shared_ptr<LogicalDevice> device, std::shared_ptr<Pipelines> pipelines,
                  std::shared_ptr<plan::Planner> planner, model::Weights weights);

    [[nodiscard]] std::unique_ptr<plan::Program> compile(plan::GraphPlan plan,
                                                         const plan::ProgramOptions &options) override;
    [[nodiscard]] std::vector<plan::MemoryNeed> need(const plan::GraphPlan &plan) override;
    void add(const model::Weights &more) override {
        const std::lock_guard lock(mutex_);
        residents_.add(more);
    }
    void remove(const std::string &beginning) override {
        const std::lock_guard lock(mutex_);
        residents_.remove(beginning);
    }

  private:
    // Of every dispatch in order, and of every dispatch that prepares.
    struct ProgramPipelines {
        std::vector<Pipeline> run, preparation;
    };
    [[nodiscard]] ProgramPipelines build_pipelines(const plan::GraphPlan &plan,
                                                   std::span<const plan::ChosenVariant> steps);
    // By step: what its plan has prepared.
    [[nodiscard]] std::vector<Prepared> prepare(const plan::GraphPlan &plan, std::span<const plan::ChosenVariant> steps,
                                                std::span<const Pipeline> pipelines);

    std::shared_ptr<LogicalDevice> device_;
    std::shared_ptr<Pipelines> pipelines_;
    std::shared_ptr<plan::Planner> planner_; // keeps the layers that plans point at
    std::mutex mutex_;                       // of all below
    Residents residents_;
    Preparations preparations_;
};

} // namespace lamina::vulkan
