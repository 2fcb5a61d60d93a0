// Memory that plans fill once per session: see <lamina/plugin/prepare.h>.
#pragma once

#include "plan/graph_plan.hpp"
#include "plan/layer_plan.hpp"
#include "vulkan/bound_dispatch.hpp"
#include "vulkan/residents.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lamina::vulkan {

// The prepared memory of a step, by block, which exists as long as a program holds it. Null if nothing is prepared.
using Prepared = std::shared_ptr<const std::vector<Region>>;

class Preparations {
  public:
    explicit Preparations(std::shared_ptr<LogicalDevice> device) : device_(std::move(device)) {}

    // A filled region for each block that the step's plan asks for. If no program holds the same kernels, constants and
    // sizes over the same weights already, the preparing dispatches run now. Weights that no program holds are uploaded
    // for that, and leave the device before this returns.
    // `pipelines`: of plan.preparation.dispatches, in order. Throws Error(memory), Error(device_lost).
    [[nodiscard]] Prepared of(const plan::Step &step, const plan::GraphPlan &graph, const plan::LayerPlan &plan,
                              std::span<const Pipeline> pipelines, Residents &residents);

  private:
    using Key = std::string; // the bytes of everything that determines the contents
    struct Request;

    [[nodiscard]] std::vector<Region> make(const Request &request, std::span<const Pipeline> pipelines,
                                           Residents &residents) const;

    std::shared_ptr<LogicalDevice> device_;
    std::map<Key, std::weak_ptr<const std::vector<Region>>> made_;
};

} // namespace lamina::vulkan
