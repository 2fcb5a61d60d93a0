// The plugins that a runtime has found: the layers with their contracts, and the libraries that were refused.
//
//     const lamina::Plugins plugins = lamina::plugins(runtime);
//     for (const auto &[id, layer] : plugins.layers) std::cout << id << ": " << layer.summary << '\n';
//
// These are copies of what the plugins declare (plugin.h). They may outlive the runtime.
#pragma once

#include <lamina/lamina.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

// A parameter of a layer, as in model.json.
struct LayerParam {
    enum class Kind { integer, real, boolean, choice };
    std::string name, summary;
    Kind kind = Kind::real;
    bool required = false;
    double default_value = 0;         // if not required; a boolean's 0 or 1, a choice's index into `choices`
    std::string follows;              // the earlier parameter whose value is the default; empty: default_value
    double min = 0, max = 0;          // of integers and reals, inclusive; +-2^53: unbounded
    std::vector<std::string> choices; // of a choice
};

// An input, weight, output or state of a layer.
struct LayerPort {
    std::string name, summary;
    std::string dims;    // "B T heads*D": sizes by name, as lamina_port in plugin.h explains
    std::string values;  // of I32: "0 V" means 0 <= value < V; empty: any
    std::string follows; // the port that is used if this one is left out; of a state, the input that it needs; or empty
    std::string capacity; // of a state: the size in `dims` that the host chooses; or empty
    std::vector<DType> dtypes;
    bool optional = false;
    bool sequence = false;      // axes 0 and 1 are swapped if the parameter batch_first is false
    bool probabilities = false; // of outputs: every row sums to 1
};

// One way to compute the layer.
struct LayerVariant {
    std::string name, summary;
    std::vector<std::string> needs; // device features beyond plain 32-bit GLSL: "float16", "subgroup_arithmetic"
    DType arithmetic = DType::f32;  // of its products; selects the tolerance
};

// How much a kernel may differ from the reference: see compare() in proof.hpp.
struct LayerTolerance {
    DType arithmetic = DType::f32;
    double rtol = 0, atol = 0;
};

struct LayerKernel {
    std::string name;
    size_t bytes = 0; // of SPIR-V; 0: the build's shader compiler could not compile it
};

struct LayerContract {
    std::string id, version, summary;
    std::string source;         // the paper or formula; or empty
    std::string signature;      // what a CPU kernel is written for: see lamina_cpu_kernel in plugin.h
    std::filesystem::path path; // of the plugin
    std::vector<LayerParam> params;
    std::vector<LayerPort> inputs, weights, outputs, states;
    std::vector<LayerVariant> variants;     // on GPUs; the first is the baseline, which runs everywhere
    std::vector<LayerVariant> cpu_variants; // on the device "cpu", beside "reference"; the most exact first
    std::vector<LayerTolerance> tolerances;
    std::vector<std::string> fuses; // of a fusion: the types of the layers that it replaces, in their order; else empty
    std::string work; // operations for each value of the first output: see lamina_layer in plugin.h; or empty
    std::vector<LayerKernel> kernels;
    std::vector<std::string> cases; // declared by the layer, in the format of CheckOptions::case_text in proof.hpp
};

// The plugin that provides the device "cpu".
struct ExecutorPlugin {
    std::string id, version, summary;
    std::filesystem::path path;
    std::vector<std::string> kernels; // ids of the layers that it has fast kernels for
};

// A library in a plugin folder that was refused.
struct RejectedPlugin {
    std::filesystem::path path;
    std::string reason; // what was expected and found
};

struct Plugins {
    std::map<std::string, LayerContract, std::less<>> layers; // by id
    std::optional<ExecutorPlugin> executor;
    std::vector<RejectedPlugin> rejected;
};

[[nodiscard]] Plugins plugins(const Runtime &runtime);
// The contract of one layer. Throws Error(plugin), with the nearest name if there is no such layer, or with the reason
// if its library was refused.
[[nodiscard]] LayerContract layer_contract(const Runtime &runtime, const std::string &id);

} // namespace lamina
