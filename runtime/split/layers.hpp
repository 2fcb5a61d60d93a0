// What a model can be divided into, and how it is divided among devices.
#pragma once

#include "abi/library.hpp"
#include "model/model.hpp"
#include "plan/graph_plan.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina::split {

// A layer as people count them: one of those that repeat, with all nodes whose names begin alike up to their first
// number, such as "model.layers.3". Nodes without a number, such as embeddings, belong to the layer behind them if they
// come first, else to the one before them. In a model without such names, each node is a layer.
struct Layer {
    std::string name;
    std::map<std::string, uint64_t> weights; // bytes, by name
    uint64_t caches = 0;                     // bytes, of one text of `tokens` tokens
};

struct Layers {
    std::vector<Layer> all;                             // in the order of the model: an encoder's first
    std::map<std::string, size_t, std::less<>> of_node; // by the node's name
    int64_t tokens = 0;                                 // whose keys and values Layer::caches counts
};

[[nodiscard]] Layers layers_of(const model::Model &model, const abi::Registry &plugins, DType state_dtype);

// Each device has the layers from the end of the one before it.
struct Division {
    std::vector<size_t> counts; // of layers, by device
    // By device: the bytes of weights, each once, and of caches.
    std::vector<uint64_t> weights, caches;
    std::vector<std::optional<uint64_t>> rooms; // as fill() was given them
};

// As many layers on each device as its room has place for, in bytes; none: any number. What has no place anywhere goes
// to the last device. A tenth of the room is left to activations and to what kernels need.
[[nodiscard]] Division fill(const Layers &layers, std::span<const std::optional<uint64_t>> rooms);
// So many layers on each device. Throws Error(usage) unless there is a number for each device, and there are as many
// layers as they add up to.
[[nodiscard]] Division divide(const Layers &layers, std::span<const size_t> counts, size_t devices);

// The device of each step of a plan of the model. A step that is not a node of it is where the step before it is.
[[nodiscard]] std::vector<size_t> devices_of(const plan::GraphPlan &plan, const Layers &layers,
                                             const Division &division);

} // namespace lamina::split
