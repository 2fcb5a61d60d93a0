// Runs of graphs in the trace event format of Chrome, which Perfetto opens.
#pragma once

#include <lamina/measure.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace lamina::cli {

// The text of a file. A graph is an event of the track "graphs", a layer of "layers", and a dispatch of "dispatches";
// of several devices, each has such tracks of its own. What a device timed by its own clock is placed as if its first
// dispatch had begun with the graph.
[[nodiscard]] std::string trace_of(const std::vector<GraphTimes> &runs, std::chrono::steady_clock::time_point began,
                                   const Device &device);

} // namespace lamina::cli
