// Saves one call of a layer in a file, so that what went wrong inside a model can be run alone.
//
// It is a safetensors file like the golden files: tensors in.PORT, weight.PORT, state.PORT (before the call), out.PORT
// and state_after.PORT (from the reference), got.PORT (outputs and states from the device), and the metadata layer,
// params (JSON), variant and device.
#pragma once

#include "conformance/case_graph.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace lamina::conformance {

struct ReplaySource {
    const plan::Step &step;
    const plan::GraphPlan &plan;   // the plan that contains `step`
    const model::Weights &weights; // of the model
    // By tensor of the plan: results of the references, states before the step, results of the device.
    std::function<Tensor(int32_t)> expected, before, got;
    std::string variant, device;
};

// Writes folder/NODE.safetensors, creating the folder if necessary, and returns its path. Throws Error(failure).
std::filesystem::path write_replay(const std::filesystem::path &folder, const ReplaySource &source);

struct Replay {
    const abi::Layer *layer;
    CaseGraph graph;
};

// Reads a file, or the only replay in a folder. Throws Error(input) with the file and what is wrong in it,
// Error(plugin) if no plugin provides the layer.
[[nodiscard]] Replay read_replay(const std::filesystem::path &given, const abi::Registry &plugins);

} // namespace lamina::conformance
