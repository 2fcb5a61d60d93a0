// Plans of layers for one kind of device. Plugins are asked, and kernels reflected, once.
#pragma once

#include "abi/library.hpp"
#include "plan/layer_plan.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace lamina::plan {

// Thread-safe. It keeps what it finds about layers of `plugins`, which a plan depends on nothing else for: their plans
// are pure functions of the call.
class Planner {
  public:
    // most_bindings: of a kernel.
    Planner(std::shared_ptr<const abi::Registry> plugins, const lamina_device &device, size_t most_bindings = SIZE_MAX);

    [[nodiscard]] const std::shared_ptr<const abi::Registry> &plugins() const { return plugins_; }
    [[nodiscard]] const lamina_device &device() const { return device_; }
    [[nodiscard]] std::shared_ptr<const Kernels> kernels_of(const abi::Layer &layer);
    // As plan_layer(): null, and the reason, if the variant does not compute the call.
    [[nodiscard]] std::shared_ptr<const LayerPlan> plan(const abi::LayerCall &call, uint32_t variant, Refusal &refusal);

  private:
    static constexpr size_t most_plans = 4096; // then all are forgotten

    struct Planned {
        std::shared_ptr<const LayerPlan> plan;
        Refusal refusal;
    };
    [[nodiscard]] bool knows(const abi::Layer &layer) const;
    [[nodiscard]] Planned made(const abi::LayerCall &call, uint32_t variant);

    const std::shared_ptr<const abi::Registry> plugins_;
    const lamina_device device_;
    const size_t most_bindings_;
    std::mutex mutex_; // guards all below
    std::map<const abi::Layer *, std::shared_ptr<const Kernels>> kernels_;
    std::map<std::string, Planned> plans_;
};

} // namespace lamina::plan
