// The conformance cases that are like a step of a model: what a kernel is proved on is then what it will run on.
#pragma once

#include "conformance/case.hpp"

#include <functional>
#include <vector>

namespace lamina::admission {

// Whether a smaller call is computed as the step is: by the same kernels, specialized alike.
using Alike = std::function<bool(const abi::LayerCall &)>;

struct StepCases {
    std::vector<conformance::Case> cases;
    bool alike = false; // all of them, so that who passes them is proved on what the step runs
};

// The step's dims, parameters, ports and dtypes: one case, and three more where it has states, at other positions.
// Where one costs more than `most` multiplications, dims are halved until it does not, rows before columns, and only
// such that it stays alike. Where none can be halved so, it may cost ten times as much; beyond that it is alike no
// more. No cases where the layer takes nothing so small.
[[nodiscard]] StepCases cases_like(const abi::LayerCall &step, double most, const Alike &alike);

} // namespace lamina::admission
