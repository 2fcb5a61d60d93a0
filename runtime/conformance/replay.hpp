// One call of a layer as a file: what went wrong inside a model, to be run alone.
//
// A safetensors file as those of PyTorch's goldens: tensors in.PORT, weight.PORT, state.PORT (before the call),
// out.PORT and state_after.PORT (what the reference computed), got.PORT (what the device did, states too), and the
// metadata layer, params (JSON), variant and device.
#pragma once

#include "conformance/case_graph.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace lamina::conformance {

struct ReplaySource {
    const plan::Step &step;
    const plan::GraphPlan &plan;       // that `step` is of
    const model::Safetensors &weights; // of the model
    // By tensor of the plan: what the references computed, or what they began with for states; what the device did.
    std::function<Tensor(int32_t)> expected, before, got;
    std::string variant, device;
};

// Returns the file, folder/NODE.safetensors; makes the folder. Throws Error(failure).
std::filesystem::path write_replay(const std::filesystem::path &folder, const ReplaySource &source);

struct Replay {
    const abi::Layer *layer;
    CaseGraph graph;
};

// A file, or a folder with one in it. Throws Error(input) that names the file and what is wrong in it; Error(plugin)
// when no plugin has the layer.
[[nodiscard]] Replay read_replay(const std::filesystem::path &given, const abi::Registry &plugins);

} // namespace lamina::conformance
