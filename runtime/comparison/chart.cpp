// Comparison::svg() of proof.hpp.
#include <lamina/proof.hpp>

#include "base/palette.hpp"
#include "base/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <vector>

namespace lamina {
namespace {

constexpr std::string_view comparison_style =
    "  .page { fill: #ffffff }\n"
    "  text { font-family: 'DejaVu Sans', Verdana, Helvetica, sans-serif; fill: #333333; font-size: 11px }\n"
    "  .title { font-size: 15px; font-weight: 600; fill: #111111 }\n"
    "  .head { font-size: 12px; font-weight: 600 }\n"
    "  .middle { text-anchor: middle }\n"
    "  .wrong { fill: #b2182b; font-weight: 600 }\n";

constexpr double left = 20, cell_width = 110, character = 7.2; // the widest that names of layers usually have
constexpr double head_height = 66, line_height = 18, row_height = 18, decades = 4;
constexpr size_t page_width = 110; // characters that fit on a line in any case

struct Metric {
    const char *name;
    double (*value)(const LayerComparison &);
};
constexpr std::array metrics{
    Metric{"own error", [](const LayerComparison &l) { return l.own.ratio; }},
    Metric{"accumulated", [](const LayerComparison &l) { return l.accumulated.ratio; }},
};

// Pale up to the limit, because all is well there; from there on redder, until four decades above it.
double shade(double ratio) {
    constexpr double calm = 0.4, at_limit = 0.6;
    if (!(ratio > 0)) return calm;
    const double place = std::clamp(std::log10(ratio) / decades, -1.0, 1.0);
    return at_limit + place * (place < 0 ? at_limit - calm : 1 - at_limit);
}

// The width of a column that keeps its texts apart from the next one.
double width_of(const Comparison &comparison, std::string LayerComparison::*text, double least) {
    size_t longest = 0;
    for (const LayerComparison &layer : comparison.layers) longest = std::max(longest, (layer.*text).size());
    return std::max(least, character * static_cast<double>(longest + 2));
}

std::string ratio_text(double ratio) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2g", ratio);
    return text.data();
}

// The text in lines that fit on the page, broken at spaces.
std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream words(text);
    for (std::string word; words >> word;)
        if (lines.empty() || lines.back().size() + 1 + word.size() > page_width)
            lines.push_back(word);
        else
            lines.back() += " " + word;
    return lines;
}

void draw_legend(Svg &svg, double x, double y) {
    constexpr double width = 240, steps = 80;
    for (double i = 0; i < steps; ++i)
        svg.rect({x + width * i / steps, y}, width / steps + 0.5, 12,
                 "stroke=\"none\" fill=\"" +
                     diverging_colour(shade(std::pow(10, 2 * decades * ((i + 0.5) / steps - 0.5)))) + "\"");
    for (const auto &[at, words] :
         {std::pair(0.0, "limit / 10000"), std::pair(0.5, "limit"), std::pair(1.0, "limit x 10000")})
        svg.text({x + width * at, y + 26}, words, "class=\"middle\"");
}

} // namespace

std::string Comparison::svg() const {
    const Comparison &comparison = *this;
    const double name_width = width_of(comparison, &LayerComparison::layer, 240);
    const double type_width = width_of(comparison, &LayerComparison::type, 130);
    const double variant_width = width_of(comparison, &LayerComparison::variant, 100);
    const double cells = left + name_width + type_width + variant_width;
    const double width = cells + cell_width * static_cast<double>(metrics.size()) + 20;
    const std::vector<std::string> summary = lines_of(comparison.summary());
    const double first_row = head_height + line_height * static_cast<double>(summary.size());
    const double bottom = first_row + row_height * static_cast<double>(comparison.layers.size());
    const std::string title =
        "Error as a part of its limit, on " + comparison.device.id + " (" + comparison.device.name + ")";
    Svg svg(width, bottom + 70, title, comparison_style);
    svg.rect({0, 0}, width, bottom + 70, "class=\"page\"");
    svg.text({left, 28}, title, "class=\"title\"");
    for (size_t i = 0; i < summary.size(); ++i)
        svg.text({left, 46 + line_height * static_cast<double>(i)}, summary[i],
                 comparison.agrees() ? "" : "class=\"wrong\"");

    const double head = first_row - 8;
    svg.text({left, head}, "layer", "class=\"head\"");
    svg.text({left + name_width, head}, "type", "class=\"head\"");
    svg.text({left + name_width + type_width, head}, "variant", "class=\"head\"");
    for (size_t m = 0; m < metrics.size(); ++m)
        svg.text({cells + cell_width * (static_cast<double>(m) + 0.5), head}, metrics[m].name, "class=\"head middle\"");

    for (size_t i = 0; i < comparison.layers.size(); ++i) {
        const LayerComparison &layer = comparison.layers[i];
        const double top = first_row + row_height * static_cast<double>(i), line = top + 13;
        svg.text({left, line}, layer.layer, layer.own.passed ? "" : "class=\"wrong\"");
        svg.text({left + name_width, line}, layer.type, "");
        svg.text({left + name_width + type_width, line}, layer.variant, "");
        for (size_t m = 0; m < metrics.size(); ++m) {
            const double ratio = metrics[m].value(layer), x = cells + cell_width * static_cast<double>(m);
            const double unit = shade(ratio);
            svg.rect({x, top}, cell_width - 2, row_height - 2,
                     "stroke=\"none\" fill=\"" + diverging_colour(unit) + "\"");
            const bool dark = unit > 0.8;
            svg.text({x + cell_width / 2, line}, ratio_text(ratio),
                     dark ? "class=\"middle\" style=\"fill:#ffffff\"" : "class=\"middle\"");
        }
    }
    draw_legend(svg, left + 40, bottom + 18);
    return svg.str();
}

} // namespace lamina
