// A model on a device against the references, layer by layer: which layer goes wrong first, and by how much.
#pragma once

#include "session/verdict.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::session {

struct LayerComparison {
    std::string graph, layer, type, variant; // variant: what the device computed it with
    Verdict own;         // the layer alone, fed with what the references computed: is this kernel right?
    Verdict accumulated; // in the running model, with the errors of all layers before it
};

struct Comparison {
    Device device;
    std::vector<LayerComparison> layers;                      // in the order in which they run
    [[nodiscard]] const LayerComparison *first_wrong() const; // by its own error; null when all agree
    [[nodiscard]] bool agrees() const { return first_wrong() == nullptr; }
    // One line: "all 46 layers on vulkan:0 (...) agree with the reference", or the first that does not.
    [[nodiscard]] std::string summary() const;
};

struct CompareOptions {
    // What the model is run on: texts where it takes text (its own greedy output is what the decoder sees), else the
    // inputs of one graph.
    std::vector<std::string> texts{"vulkan", "transformer"};
    TensorMap inputs;
    std::string graph;                                        // for inputs; "": the only one
    std::string against = "reference";                        // or "cpu": the CPU's fast kernels, for large models
    std::map<std::string, std::string, std::less<>> variants; // layer id -> variant
};

[[nodiscard]] Comparison compare(const Runtime &runtime, const Model &model, const Device &device,
                                 const CompareOptions &options);

} // namespace lamina::session
