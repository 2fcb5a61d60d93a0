// A Vulkan device with one model's weights: compiles planned graphs into programs.
#pragma once

#include "vulkan/pipelines.hpp"
#include "vulkan/residents.hpp"
#include "vulkan/variant_choice.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lamina::vulkan {

class VulkanBackend final : public plan::Backend {
  public:
    VulkanBackend(std::shared_ptr<LogicalDevice> device, std::shared_ptr<Pipelines> pipelines,
                  std::shared_ptr<const abi::Registry> plugins, model::Safetensors weights);

    [[nodiscard]] std::unique_ptr<plan::Program> compile(plan::GraphPlan plan,
                                                         const plan::ProgramOptions &options) override;

  private:
    [[nodiscard]] const plan::Kernels &kernels(const abi::Layer &layer); // reflected once
    [[nodiscard]] std::vector<Pipeline> build_pipelines(const plan::GraphPlan &plan,
                                                        std::span<const ChosenVariant> steps);

    std::shared_ptr<LogicalDevice> device_;
    std::shared_ptr<Pipelines> pipelines_;
    std::shared_ptr<const abi::Registry> plugins_; // kept for the layers that plans point at
    std::mutex mutex_;                             // of all below
    Residents residents_;
    std::map<const lamina_layer *, plan::Kernels> kernels_;
};

} // namespace lamina::vulkan
