// Conformance cases like a step of a model, so that a kernel is proved on what it will run on.
#pragma once

#include "conformance/case.hpp"
#include "plan/device.hpp"

#include <functional>
#include <vector>

namespace lamina::admission {

// Whether a smaller call is computed like the step: by the same kernels with the same specialization.
using Alike = std::function<bool(const abi::LayerCall &)>;

struct StepCases {
    std::vector<conformance::Case> cases;
    bool alike = false; // whether all of them are computed like the step
};

// One case with the step's dims, parameters, ports and dtypes; if it has states, three more at other positions. If the
// reference takes more work than the limit, only a sample of the rows is compared. If it cannot compute rows alone, or
// if the tensors have more values than the limit, dims are halved, rows before columns, as long as the case stays
// alike. If that is not possible, it may take ten times as much; beyond that, dims are halved although it is no longer
// alike. There are no cases if the layer accepts none that is small enough.
[[nodiscard]] StepCases cases_like(const abi::LayerCall &step, const plan::Device::Limits &most, const Alike &alike);

} // namespace lamina::admission
