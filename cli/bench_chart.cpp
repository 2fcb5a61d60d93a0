#include "bench_chart.hpp"

#include "base/svg.hpp"
#include "sheet.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace lamina::cli {
namespace {

constexpr std::string_view bar_style =
    "  .page { fill: #ffffff }\n"
    "  text { font-family: 'DejaVu Sans', Verdana, Helvetica, sans-serif; font-size: 12px; fill: #333333 }\n"
    "  .case { font-weight: 600; fill: #111111 }\n"
    "  .end { text-anchor: end }\n";

using MeasuredCase = std::span<const LayerMeasurement>; // the variants of a layer for one case

std::vector<MeasuredCase> cases_of(const std::vector<LayerMeasurement> &measured) {
    std::vector<MeasuredCase> out;
    for (auto begin = measured.begin(); begin != measured.end();) {
        const auto end = std::find_if(begin, measured.end(), [&](const LayerMeasurement &m) {
            return m.layer != begin->layer || m.case_text != begin->case_text;
        });
        out.emplace_back(begin, end);
        begin = end;
    }
    return out;
}

class BarChart {
  public:
    BarChart(size_t cases, size_t all_bars)
        : height_(2 * margin + bar * (1.5 * static_cast<double>(cases) + static_cast<double>(all_bars))),
          svg_(width, height_, "times of layers", bar_style) {
        svg_.rect({0, 0}, width, height_, R"(class="page")");
    }

    void add(const MeasuredCase &one) {
        const auto faster = [](const auto &a, const auto &b) { return a.time.median < b.time.median; };
        const double first = one.front().time.median;
        const double fastest = std::min_element(one.begin(), one.end(), faster)->time.median;
        svg_.text({margin, y_ + 15}, one.front().layer + " " + one.front().case_text, R"(class="case")");
        y_ += bar;
        for (const LayerMeasurement &m : one) {
            const double length = longest * fastest / m.time.median, left = margin + name;
            svg_.text({left - 8, y_ + 15}, m.variant, R"(class="end")");
            svg_.rect({left, y_ + 3}, length, bar - 6, R"(fill="#0072b2")"); // the first line's colour in plots
            svg_.text({left + length + 8, y_ + 15},
                      duration(m.time.median) + ", " + significant(first / m.time.median, 3) + "x", "");
            y_ += bar;
        }
        y_ += bar / 2;
    }

    [[nodiscard]] std::string str() const { return svg_.str(); }

  private:
    static constexpr double width = 900, margin = 20, bar = 22, name = 160, longest = 480;
    double height_, y_ = margin;
    Svg svg_;
};

} // namespace

std::string draw(const std::vector<LayerMeasurement> &measured) {
    std::vector<LayerMeasurement> timed;
    std::copy_if(measured.begin(), measured.end(), std::back_inserter(timed),
                 [](const LayerMeasurement &m) { return m.why_not.empty(); });
    const std::vector<MeasuredCase> cases = cases_of(timed);
    BarChart chart(cases.size(), timed.size());
    for (const MeasuredCase &one : cases) chart.add(one);
    return chart.str();
}

} // namespace lamina::cli
