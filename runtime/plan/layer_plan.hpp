// The plan of one layer as the plugin emitted it, checked against its kernels and the device.
#pragma once

#include "abi/call.hpp"
#include "plan/reflect.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace lamina::plan {

struct Binding {
    uint32_t role = 0,
             index = 0; // LAMINA_IN, ...; index into the contract's list, or the number of a block or constant
    uint64_t offset = 0, bytes = 0; // resolved: never "to the end"; bytes 0 only for a port that was left out
    bool reads = true, writes = true;
};

struct Dispatch {
    uint32_t kernel = 0;
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::vector<Binding> bindings;
    std::vector<lamina_spec> specs; // sorted by id
    std::vector<std::byte> push;
};

// Work done once per session: memory, and the dispatches that fill it from weights and constants.
struct Preparation {
    std::vector<uint64_t> memory; // bytes of each block
    std::vector<Dispatch> dispatches;
};

struct LayerPlan {
    std::vector<Dispatch> dispatches;
    Preparation preparation;
    std::vector<uint64_t> scratch;                 // bytes of each block
    std::vector<std::vector<std::byte>> constants; // read-only data, uploaded once
};

// The kernels of a layer. Each is reflected when it is first asked for, because a layer has many and a plan needs few.
// Thread-safe. The layer must outlive it.
class Kernels {
  public:
    explicit Kernels(const abi::Layer &layer);
    [[nodiscard]] const KernelInfo &operator[](uint32_t i) const; // throws Error(plugin), as reflect()
    [[nodiscard]] size_t size() const { return layer_.contract->n_kernels; }

  private:
    struct Kernel {
        std::once_flag reflected;
        KernelInfo info;
    };
    const abi::Layer &layer_;
    std::unique_ptr<Kernel[]> kernels_;
};

// Why a variant does not compute a call.
struct Refusal {
    std::string why;      // empty: it does
    bool missing = false; // the device lacks a feature, or the build a kernel, so other shapes will not help
};

// Asks the plugin for a plan and checks it: kernels and roles exist, bindings are as many as the kernel's, aligned,
// inside their tensor and under the device's limit, inputs and weights are only read, groups and workgroup sizes fit
// the device, push size and specialization ids are the kernel's, features are the device's. Throws Error(plugin) for a
// plan that breaks a rule. Returns none, and the reason, if the variant does not handle these shapes, the device lacks
// a feature or the build lacks a kernel. The plugin may be shown another device than the one that its plan is checked
// for.
[[nodiscard]] std::optional<LayerPlan> plan_layer(const abi::LayerCall &call, const Kernels &kernels, uint32_t variant,
                                                  const lamina_device &device, Refusal &refusal,
                                                  const lamina_device *shown = nullptr);

} // namespace lamina::plan
