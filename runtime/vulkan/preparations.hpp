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

class Preparations {
  public:
    explicit Preparations(std::shared_ptr<LogicalDevice> device) : device_(std::move(device)) {}

    // A filled region for each block that the step's plan asks for. At the first request the preparing dispatches run
    // now. Later requests with the same kernels, constants and sizes over the same weights share the memory.
    // `pipelines`: of plan.preparation.dispatches, in order. Throws Error(memory), Error(device_lost).
    [[nodiscard]] const std::vector<Region> &of(const plan::Step &step, const plan::GraphPlan &graph,
                                                const plan::LayerPlan &plan, std::span<const Pipeline> pipelines,
                                                Residents &residents);
    [[nodiscard]] size_t size() const { return made_.size(); } // how many have been made

  private:
    using Key = std::string; // the bytes of everything that determines the contents
    struct Request;

    [[nodiscard]] std::vector<Region> make(const Request &request, std::span<const Pipeline> pipelines,
                                           Residents &residents) const;

    std::shared_ptr<LogicalDevice> device_;
    std::map<Key, std::vector<Region>> made_;
};

} // namespace lamina::vulkan
