#include "chart.hpp"

#include "base/palette.hpp"
#include "base/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace lamina::cli {
namespace {

constexpr std::string_view chart_style =
    "  .page { fill: #ffffff }\n"
    "  text { font-family: 'DejaVu Sans', Verdana, Helvetica, sans-serif; fill: #333333 }\n"
    "  .title { font-size: 16px; font-weight: 600; fill: #111111 }\n"
    "  .label { font-size: 13px }\n"
    "  .tick { font-size: 11px; fill: #555555 }\n"
    "  .middle { text-anchor: middle }\n"
    "  .end { text-anchor: end }\n"
    "  .grid { stroke: #e6e6e6; stroke-width: 1 }\n"
    "  .axis { stroke: #888888; stroke-width: 1; fill: none }\n"
    "  .series { fill: none; stroke-width: 1.8; stroke-linejoin: round }\n"
    "  .cells { stroke: none; shape-rendering: crispEdges }\n";

// Maps values to pixels, along one axis.
struct Scale {
    double lo, hi, from, to;
    double operator()(double v) const { return from + (v - lo) / (hi - lo) * (to - from); }
};

struct Frame { // where the data is drawn
    double left, top, right, bottom;
};

// About `count` round numbers in [lo, hi], spaced 1, 2 or 5 times a power of ten apart, but at least `closest`.
std::vector<double> ticks(double lo, double hi, int count, double closest = 0) {
    const double rough = std::max((hi - lo) / count, 1e-300);
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double multiple : {5.0, 2.0, 1.0})
        if (multiple * power >= rough * (1 - 1e-9)) step = multiple * power;
    step = std::max(step, closest);
    std::vector<double> out;
    for (double k = std::ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; ++k) out.push_back(k * step);
    return out;
}

// "-0.5", "2000", "1e-05", and a minus sign instead of a hyphen.
std::string tick_label(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value == 0 ? 0.0 : value);
    std::string out = text.data();
    if (out.front() == '-') out.replace(0, 1, "\u2212");
    return out;
}

void draw_title(Svg &svg, const Frame &frame, const std::string &title, const std::string &x_label,
                const std::string &y_label) {
    const double middle = (frame.left + frame.right) / 2, centre = (frame.top + frame.bottom) / 2;
    svg.text({middle, frame.top - 18}, title, "class=\"title middle\"");
    svg.text({middle, frame.bottom + 40}, x_label, "class=\"label middle\"");
    const double x = frame.left - 48;
    svg.text({x, centre}, y_label,
             "class=\"label middle\" transform=\"rotate(-90 " + decimal(x) + " " + decimal(centre) + ")\"");
}

void draw_x_tick(Svg &svg, const Frame &frame, double x, double value) {
    svg.line({x, frame.bottom}, {x, frame.bottom + 5}, "class=\"axis\"");
    svg.text({x, frame.bottom + 19}, tick_label(value), "class=\"tick middle\"");
}

void draw_y_tick(Svg &svg, double edge, double y, double value) {
    svg.line({edge - 5, y}, {edge, y}, "class=\"axis\"");
    svg.text({edge - 9, y + 4}, tick_label(value), "class=\"tick end\"");
}

// The smallest and largest finite value, with some margin; [-1, 1] if there is none.
std::pair<double, double> range_of(const std::vector<Series> &series) {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (const Series &s : series)
        for (const float v : s.values)
            if (std::isfinite(v)) lo = std::min<double>(lo, v), hi = std::max<double>(hi, v);
    if (lo > hi) return {-1, 1};
    const double air = hi > lo ? (hi - lo) * 0.06 : std::max(1e-6, std::abs(hi) * 0.1);
    return {lo - air, hi + air};
}

constexpr size_t most_points = 4000; // of a line: several for each pixel of its width

// Draws a line for each run of finite values. If there are more values than pixels can show, only the lowest and
// highest of each group of neighbours are drawn, in their order: the picture is the same, and the file stays small.
void draw_series(Svg &svg, const Series &series, const std::string &style, const Scale &x, const Scale &y) {
    std::vector<Point> run;
    const auto finish = [&] {
        if (run.size() == 1) run.push_back({run.front().x + 0.01, run.front().y}); // a lone value is a dot
        if (!run.empty()) svg.polyline(run, "class=\"series\" stroke-linecap=\"round\" " + style);
        run.clear();
    };
    const std::vector<float> &values = series.values;
    const size_t together = values.size() > most_points ? (2 * values.size() + most_points - 1) / most_points : 1;
    for (size_t begin = 0; begin < values.size(); begin += together) {
        std::optional<size_t> low, high;
        for (size_t i = begin; i < std::min(begin + together, values.size()); ++i) {
            if (!std::isfinite(values[i])) continue;
            if (!low || values[i] < values[*low]) low = i;
            if (!high || values[i] > values[*high]) high = i;
        }
        if (!low) {
            finish();
            continue;
        }
        for (const size_t i : std::set{*low, *high}) run.push_back({x(static_cast<double>(i)), y(values[i])});
    }
    finish();
}

void draw_legend(Svg &svg, const Frame &frame, const std::vector<Series> &series) {
    const double fits = (frame.bottom - frame.top) / static_cast<double>(series.size());
    double y = frame.top + 10;
    for (size_t i = 0; i < series.size(); ++i, y += std::min(19.0, fits)) {
        const double x = frame.right + 20;
        svg.line({x, y}, {x + 24, y}, "class=\"series\" " + line_style(i));
        svg.text({x + 32, y + 4}, series[i].name, "class=\"tick\"");
    }
}

// Runs of cells with the same colour, as one path per colour in units of cells. This keeps the file small, even for a
// table of 5000 x 512.
struct CellPaths {
    static constexpr size_t shades = 101;
    std::array<std::string, shades> data;

    void add(size_t shade, int64_t row, int64_t column, int64_t cells) {
        const std::string n = std::to_string(cells);
        std::string &path = data[shade];
        path.append("M").append(std::to_string(column)).append(" ").append(std::to_string(row));
        path.append("h").append(n).append("v1h-").append(n).append("z");
    }
    static size_t shade(double value, double limit) {
        const double unit = std::clamp((value / limit + 1) / 2, 0.0, 1.0);
        return static_cast<size_t>(std::lround(unit * (shades - 1)));
    }
    static double unit(size_t shade) { return static_cast<double>(shade) / (shades - 1); }
};

// n / step, rounded up.
int64_t steps(int64_t n, int64_t step) { return (n + step - 1) / step; }

std::string thinned(const std::string &label, int64_t step) {
    if (step == 1) return label;
    return label + " (every " + std::to_string(step) + (step == 2 ? "nd" : step == 3 ? "rd" : "th") + " shown)";
}

void draw_cells(Svg &svg, const HeatMap &map, const Frame &frame, int64_t row_step, int64_t column_step) {
    constexpr size_t blank = CellPaths::shades;
    CellPaths cells;
    for (int64_t row = 0; row < map.rows; row += row_step) {
        const auto shade = [&](int64_t column) {
            const float value = map.values[static_cast<size_t>(row * map.columns + column)];
            return std::isfinite(value) ? CellPaths::shade(value, map.limit) : blank;
        };
        for (int64_t column = 0; column < map.columns;) {
            const int64_t first = column;
            const size_t colour = shade(first);
            while (column < map.columns && shade(column) == colour) column += column_step;
            if (colour != blank) cells.add(colour, row / row_step, first / column_step, (column - first) / column_step);
        }
    }
    const auto rows = static_cast<double>(steps(map.rows, row_step));
    const auto columns = static_cast<double>(steps(map.columns, column_step));
    const std::string place = "translate(" + decimal(frame.left) + " " + decimal(frame.top) + ") scale(" +
                              std::to_string((frame.right - frame.left) / columns) + " " +
                              std::to_string((frame.bottom - frame.top) / rows) + ")";
    for (size_t s = 0; s < CellPaths::shades; ++s)
        if (!cells.data[s].empty())
            svg.path(cells.data[s], "class=\"cells\" transform=\"" + place + "\" fill=\"" +
                                        diverging_colour(CellPaths::unit(s)) + "\"");
}

void draw_colour_bar(Svg &svg, const Frame &frame, double limit) {
    const double left = frame.right + 24, width = 16, step = (frame.bottom - frame.top) / CellPaths::shades;
    for (size_t s = 0; s < CellPaths::shades; ++s)
        svg.rect({left, frame.bottom - static_cast<double>(s + 1) * step}, width, step + 0.5,
                 "class=\"cells\" fill=\"" + diverging_colour(CellPaths::unit(s)) + "\"");
    svg.rect({left, frame.top}, width, frame.bottom - frame.top, "class=\"axis\"");
    const Scale y{-limit, limit, frame.bottom, frame.top};
    for (const double v : ticks(-limit, limit, 4)) {
        svg.line({left + width, y(v)}, {left + width + 5, y(v)}, "class=\"axis\"");
        svg.text({left + width + 9, y(v) + 4}, tick_label(v), "class=\"tick\"");
    }
}

} // namespace

std::string draw(const LineChart &chart) {
    constexpr double width = 900, height = 460;
    const Frame frame{76, 52, width - 116, height - 62};
    Svg svg(width, height, chart.title, chart_style);
    svg.rect({0, 0}, width, height, "class=\"page\"");
    draw_title(svg, frame, chart.title, chart.x_label, chart.y_label);

    const size_t length = chart.series.empty() ? 0 : chart.series.front().values.size();
    const Scale x{0, length > 1 ? static_cast<double>(length - 1) : 1, frame.left, frame.right};
    const auto [lo, hi] = range_of(chart.series);
    const Scale y{lo, hi, frame.bottom, frame.top};
    for (const double v : ticks(x.lo, length > 1 ? x.hi : 0, 10, 1)) {
        svg.line({x(v), frame.top}, {x(v), frame.bottom}, "class=\"grid\"");
        draw_x_tick(svg, frame, x(v), v);
    }
    for (const double v : ticks(lo, hi, 5)) {
        svg.line({frame.left, y(v)}, {frame.right, y(v)}, "class=\"grid\"");
        draw_y_tick(svg, frame.left, y(v), v);
    }
    for (size_t i = 0; i < chart.series.size(); ++i) draw_series(svg, chart.series[i], line_style(i), x, y);
    svg.rect({frame.left, frame.top}, frame.right - frame.left, frame.bottom - frame.top, "class=\"axis\"");
    draw_legend(svg, frame, chart.series);
    return svg.str();
}

std::string draw(const HeatMap &map) {
    constexpr double width = 900, height = 600;
    const Frame frame{76, 52, width - 96, height - 62};
    const int64_t row_step = steps(map.rows, static_cast<int64_t>(frame.bottom - frame.top));
    const int64_t column_step = steps(map.columns, static_cast<int64_t>(frame.right - frame.left));
    Svg svg(width, height, map.title, chart_style);
    svg.rect({0, 0}, width, height, "class=\"page\"");
    draw_title(svg, frame, map.title, thinned(map.x_label, column_step), thinned(map.y_label, row_step));
    draw_cells(svg, map, frame, row_step, column_step);

    const auto rows = static_cast<double>(map.rows), columns = static_cast<double>(map.columns);
    const Scale x{-0.5, columns - 0.5, frame.left, frame.right},
        y{-0.5, rows - 0.5, frame.top, frame.bottom}; // cells' centres
    for (const double v : ticks(0, columns - 1, 10, 1))
        draw_x_tick(svg, frame, x(v),
                    map.column_names.empty() ? v : static_cast<double>(map.column_names[static_cast<size_t>(v)]));
    for (const double v : ticks(0, rows - 1, 10, 1)) draw_y_tick(svg, frame.left, y(v), v);
    svg.rect({frame.left, frame.top}, frame.right - frame.left, frame.bottom - frame.top, "class=\"axis\"");
    draw_colour_bar(svg, frame, map.limit);
    return svg.str();
}

} // namespace lamina::cli
