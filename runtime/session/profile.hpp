// The times of a program's run, as SessionOptions::profile reports them.
#pragma once

#include "plan/program.hpp"

#include <lamina/measure.hpp>

namespace lamina::detail {

[[nodiscard]] GraphTimes graph_times(const plan::Program &program, const plan::RunTimes &times);

} // namespace lamina::detail
