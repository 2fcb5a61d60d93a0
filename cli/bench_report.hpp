// lamina bench --report: a page about one machine, which its user can send in.
#pragma once

#include "output.hpp"

#include <lamina/measure.hpp>

#include <string>

namespace lamina::cli {

struct Report {
    std::string page;  // Markdown
    std::string chart; // SVG: the times of every variant, as `draw` draws them
};

// The device and its driver, how many of the layers' own cases each variant passed, and how fast the variants are with
// shapes of transformers. The page shows the chart as an image of the file name `chart`. Takes minutes.
[[nodiscard]] Report report_of(const Runtime &runtime, const Device &device, const Limits &limits,
                               const std::string &chart, Output &output);

} // namespace lamina::cli
