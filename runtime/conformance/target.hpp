// What conformance runs on: a device, and its variants of a layer.
#pragma once

#include "abi/call.hpp"
#include "model/weights.hpp"
#include "plan/layer_plan.hpp"
#include "plan/program.hpp"
#include "vulkan/device.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lamina::conformance {

struct CheckVariant {
    std::string name;
    uint32_t arithmetic = LAMINA_F32; // selects the tolerance
    bool baseline = false;            // must accept every case
};

struct CheckTarget {
    std::string device; // as --device takes it, for the command that replays a failure
    std::string name;   // for people: "NVIDIA H100"
    // What computes a layer if no variant may run; empty if nothing does.
    std::string fallback{};
    // The most that a case like a model's step may take.
    struct Limits {
        double work = 1e8;      // multiplications of the reference: a few tenths of a second
        double values = 0x1p30; // of all its tensors
    } limits{};
    std::function<std::vector<CheckVariant>(const abi::Layer &)> variants;
    // Why a variant does not handle these shapes here; empty if it does.
    std::function<plan::Refusal(const abi::LayerCall &, const std::string &variant)> why_not;
    // The kernels that a variant runs for these shapes, with their specialization; empty if it does not handle them.
    std::function<std::set<std::string>(const abi::LayerCall &, const std::string &variant)> pipelines;
    // Whether it binds weights in parts on a device whose bindings are small enough: ProgramOptions::in_parts.
    std::function<bool(const abi::LayerCall &, const std::string &variant)> binds_parts{};
    // How much code that is, and so how long a driver may take to compile it.
    std::function<size_t(const abi::LayerCall &, const std::string &variant)> code_size;
    std::function<std::unique_ptr<plan::Backend>(model::Weights)> backend;
    // The same target for another thread, which runs cases at the same time. Empty: one thread uses all cores.
    std::function<CheckTarget()> another{};
    bool has_kernels = false; // those that the interpreter knows
    // Whether one run shows what a second one would, because it stops at everything that a result could depend on
    // beside its inputs.
    bool strict = false;
};

// The kernels of a Vulkan device: every variant of a layer.
[[nodiscard]] CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins,
                                       const std::shared_ptr<vulkan::Device> &device);

// The CPU's fast kernels. A layer without one has nothing to check, because its reference runs.
[[nodiscard]] CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins);

// The kernels of a Vulkan device, interpreted: see interpreter/backend.hpp. subgroup: the invocations in one.
[[nodiscard]] CheckTarget interpreted(const std::shared_ptr<const abi::Registry> &plugins, uint32_t subgroup = 32);

} // namespace lamina::conformance
