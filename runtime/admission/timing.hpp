// Which of several variants computes a step fastest.
#pragma once

#include "plan/graph_plan.hpp"
#include "plan/program.hpp"

#include <string>
#include <vector>

namespace lamina::admission {

// What a step's speed depends on, beside its layer.
[[nodiscard]] std::string shapes_of(const plan::Step &step);

// The seconds that a plan takes on a device, without its inputs and outputs: the least of a few runs.
[[nodiscard]] double seconds_of(plan::GraphPlan plan, plan::Backend &backend, std::vector<std::string> variants);

// Runs a step of a plan alone, a few times with each variant.
[[nodiscard]] std::string measure_fastest(const plan::GraphPlan &plan, size_t step, plan::Backend &backend,
                                          const std::vector<std::string> &variants);

} // namespace lamina::admission
