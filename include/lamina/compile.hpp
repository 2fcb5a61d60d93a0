// What a device's compiler makes of the kernels, without running any: for a GPU that computes wrongly or is lost as
// soon as something runs, and for one that is not there. `lamina check --compile` prints it.
//
//     lamina::Runtime runtime;
//     const lamina::CompileReport report = lamina::compile(runtime, runtime.device("vulkan:0"), {.layers =
//     {"linear"}}); for (const lamina::CompiledKernel &k : report.kernels)
//         if (!k.error.empty()) std::cerr << k.layer << ", " << k.kernel << ": " << k.error << '\n';
#pragma once

#include <lamina/lamina.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lamina {

// What most compilers tell of a kernel, under one name or another.
struct KernelFigures {
    std::optional<double> registers;    // of an invocation, or of a subgroup's lane
    std::optional<double> spills;       // registers or values that were moved to memory, or instructions that move them
    std::optional<double> subgroups;    // that fit on a part of the GPU at a time; more of them hide more waiting
    std::optional<double> instructions; // in the code, loops counted once
};

// A kernel with one set of specialization constants.
struct CompiledKernel {
    std::string layer, kernel;                // "linear", "product_tiled"
    std::map<uint32_t, uint32_t> constants;   // by id, as bits
    std::set<std::string> variants;           // of the layer, that run it
    std::string needed_by;                    // the first case, or step of a model
    std::string error;                        // why the driver refuses it; else empty
    std::map<std::string, double> statistics; // all that its compiler says, in its own words: "Spilled VGPRs"

    [[nodiscard]] KernelFigures figures() const;
};

// A layer of a model in one of its runs, and all others there that are computed in the same way.
struct CompiledStep {
    std::string run;     // "a prompt of 128 tokens"
    std::string layer;   // "linear"
    std::string name;    // of the first of them: "model.layers.0.self_attn.q_proj"
    size_t count = 0;    // of them
    bool fusion = false; // can replace other steps
    struct Variant {
        std::string name;
        std::string why_not; // why it does not compute the step on this device; else empty
    };
    std::vector<Variant> variants;       // in the order in which they are tried
    [[nodiscard]] bool computed() const; // by at least one variant
};

struct CompileReport {
    std::vector<CompiledKernel> kernels; // by layer, kernel and constants
    std::vector<CompiledStep> steps;     // of a model
    bool statistics = false;             // whether the driver tells what its compiler made of kernels
    // Every kernel compiles, and every step is computed by some variant, or is a fusion.
    [[nodiscard]] bool passed() const;
};

struct CompileOptions {
    std::vector<std::string> layers{}; // by id; empty: all
    bool own_cases_only = false;       // only for cases that layers declare, not for generated ones
    uint64_t seed = 1;                 // of the generated cases
    // Called before each kernel: "linear, product_tiled", and how many of all are done. May throw to stop.
    std::function<void(const std::string &what, size_t done, size_t all)> begin{};
};

// Compiles what all variants of layers run in their cases. Throws Error(plugin) for an unknown layer, Error(usage) for
// a device whose kernels no driver compiles, and Error(no_device).
[[nodiscard]] CompileReport compile(const Runtime &runtime, const Device &device, const CompileOptions &options = {});

// Compiles what all variants of a model's layers run for a text of 128 tokens, for the next token, and for eight texts
// at once. Of the options, `begin` counts. Throws Error(usage) for a model that neither generates nor reads.
[[nodiscard]] CompileReport compile(const Runtime &runtime, const Model &model, const Device &device,
                                    const CompileOptions &options = {});

} // namespace lamina
