// The pipelines that a driver has to compile: every kernel, with each set of specialization constants in the plans of
// its layer's cases.
#pragma once

#include "plan/layer_plan.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace portability {

struct Build {
    const lamina::abi::Layer *layer = nullptr;
    std::shared_ptr<const lamina::plan::Kernels> kernels; // the layer's, reflected
    uint32_t kernel = 0;
    std::vector<lamina_spec> specs; // sorted by id
    std::set<std::string> variants; // that dispatch it
    std::string case_text;          // of the first case that does

    [[nodiscard]] const lamina_kernel &code() const { return layer->contract->kernels[kernel]; }
    [[nodiscard]] const lamina::plan::KernelInfo &info() const { return (*kernels)[kernel]; }
    [[nodiscard]] std::string kernel_name() const; // "attention/attend_rows"
    [[nodiscard]] std::string text() const;        // with its constants, its variants and the case
};

// The layers of the build; a plugin that could not be loaded is an Error.
[[nodiscard]] const std::map<std::string, lamina::abi::Layer, std::less<>> &layers();

// The kernels of a layer, except those that this build's tools could not compile.
[[nodiscard]] std::vector<lamina_kernel> kernels_of(const lamina::abi::Layer &layer);

// A typical GPU with every feature: subgroups of 32, 32 KiB of shared memory.
[[nodiscard]] lamina_device typical_gpu();

// One for each layer, kernel and set of constants: of all layers, all variants that can plan on `device`, and the
// layers' own and generated cases.
[[nodiscard]] std::vector<Build> builds_on(const lamina_device &device);

} // namespace portability
