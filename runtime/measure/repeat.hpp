// Runs something again and again, and says how long it takes.
#pragma once

#include <lamina/measure.hpp>

#include <functional>

namespace lamina::measure {

// `run` returns its own time in seconds. It runs twice without counting (once, if that takes longer than `seconds`),
// then for about `seconds`, at least three times (once, if the first took longer than ten times `seconds`) and at most
// 10,000 times.
[[nodiscard]] Spread repeat(double seconds, const std::function<double()> &run);

// How long `work` takes by the host's clock.
[[nodiscard]] double seconds_of(const std::function<void()> &work);

} // namespace lamina::measure
