// Cases in which each kernel meets what kernels are specialized for. The generator knows no kernels: that every choice
// meets every dtype does not make each of them meet each kernel.
#pragma once

#include "conformance/case.hpp"
#include "plan/device.hpp"

#include <vector>

namespace lamina::conformance {

struct KernelCase {
    Case c;
    plan::Variant variant; // the one that dispatches the kernel
};

// For each kernel that the device's variants dispatch in some of the cases: more cases in which it meets every choice,
// every dtype of weights and of states, and 1 as every size and every integer parameter, as far as it does so in none
// of them. They are small changes of the smallest cases that dispatch the kernel, and kept only if they still do.
[[nodiscard]] std::vector<KernelCase> kernel_cases(const abi::Layer &layer, plan::Device &device,
                                                   const std::vector<Case> &cases);

} // namespace lamina::conformance
