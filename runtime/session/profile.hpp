// The times of a program's run, as SessionOptions::profile reports them.
#pragma once

#include "plan/program.hpp"
#include "session/state.hpp"

#include <lamina/measure.hpp>

namespace lamina::detail {

[[nodiscard]] GraphTimes graph_times(const plan::Program &program, const plan::RunTimes &times,
                                     const SessionState &session);

} // namespace lamina::detail
