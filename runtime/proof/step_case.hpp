// The conformance cases that are like a step of a model: what a kernel is proved on is then what it will run on.
#pragma once

#include "proof/case.hpp"

#include <vector>

namespace lamina::proof {

// The multiplications of a call, about: every row of an input meets every weight, and every other row.
[[nodiscard]] double work_of(const abi::LayerCall &call);

// The step's dims, parameters, ports and dtypes: one case, and three more where it has states, at other positions.
// Where one costs more than `most` multiplications, the largest dims are halved until it does not, rows before columns.
// None where the layer does not take what is left.
[[nodiscard]] std::vector<Case> cases_like(const abi::LayerCall &step, double most);

} // namespace lamina::proof
