// Charts as SVG: lines over a common x axis, and tables as heat maps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamina::cli {

struct Series {
    std::string name;          // in the legend
    std::vector<float> values; // at x = 0, 1, 2, ...
};

struct LineChart {
    std::string title, x_label, y_label;
    std::vector<Series> series; // all of the same length; more than `most_series` lines cannot be told apart

    static constexpr size_t most_series = 20;
};

struct HeatMap {
    std::string title, x_label, y_label;
    int64_t rows = 0, columns = 0;       // row 0 at the top
    std::span<const float> values;       // row-major
    std::vector<int64_t> column_names{}; // on the axis; empty: from 0
    double limit = 1;                    // the colours span [-limit, limit]
};

// The text of an SVG file. Values that are not finite are left out. A heat map wider or higher than its pixels shows
// every n-th row or column, and its axis says so.
[[nodiscard]] std::string draw(const LineChart &chart);
[[nodiscard]] std::string draw(const HeatMap &map);

} // namespace lamina::cli
