// What conformance is checked on: a device, and its ways to compute a layer.
#pragma once

#include "abi/call.hpp"
#include "model/safetensors.hpp"
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
    uint32_t arithmetic = LAMINA_F32; // picks the tolerance
    bool baseline = false;            // may refuse no case
};

struct CheckTarget {
    std::string device; // as --device takes it: what replays a failure
    std::string name;   // for people: "NVIDIA H100"
    // What computes a layer of which no variant may run; empty: nothing does.
    std::string fallback{};
    // How many multiplications a case like a model's step may take, at most: what its proof costs is mostly the
    // reference's time.
    double most_work = 1e8; // some tenths of a second
    std::function<std::vector<CheckVariant>(const abi::Layer &)> variants;
    // Why a variant does not do these shapes here; empty when it does.
    std::function<std::string(const abi::LayerCall &, const std::string &variant)> why_not;
    // What a variant runs for these shapes: kernels with what they are specialized to. Empty where it does not do them.
    std::function<std::set<std::string>(const abi::LayerCall &, const std::string &variant)> pipelines;
    std::function<std::unique_ptr<plan::Backend>(model::Safetensors)> backend;
};

// The kernels of a Vulkan device: every variant of a layer.
[[nodiscard]] CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins,
                                       const std::shared_ptr<vulkan::Device> &device);

// The CPU's fast kernels; a layer without one has nothing to check, as its reference is what runs.
[[nodiscard]] CheckTarget check_target(const std::shared_ptr<const abi::Registry> &plugins);

} // namespace lamina::conformance
