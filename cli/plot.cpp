// lamina plot pe: the positional encoding as a line chart, a heat map or numbers. The values are those of the layer's
// reference, so the picture is what models compute.
#include "chart.hpp"
#include "command.hpp"

#include "base/file.hpp"

#include <charconv>
#include <set>
#include <span>
#include <sstream>

namespace lamina::cli {
namespace {

struct PlotOptions {
    int64_t d_model = 20, max_len = 100;
    std::string dims, layout = "interleaved", title = "Positional encoding";
    std::filesystem::path file; // empty: stdout
    bool heat = false, csv = false;
};

constexpr int64_t most_values = int64_t{1} << 28; // 1 GiB, far more than a picture can show

// The layer's output for zeros of shape (1, max_len, d_model), computed by a model of this one layer.
Tensor positional_encoding(const Runtime &runtime, const PlotOptions &options) {
    if (options.max_len > most_values / options.d_model)
        throw Error(ErrorCode::usage, "--max-len " + std::to_string(options.max_len) + " x --d-model " +
                                          std::to_string(options.d_model) + " is more than " +
                                          std::to_string(most_values) + " values; choose fewer");
    const Json layer{{"name", "y"},
                     {"type", "positional_encoding"},
                     {"inputs", {{"x", "x"}}},
                     {"params", {{"layout", options.layout}, {"max_len", options.max_len}}}};
    const Json graph{{"inputs", {{"x", {{"dtype", "f32"}, {"dims", "B T C"}}}}},
                     {"layers", Json::array({layer})},
                     {"outputs", {{"y", "y"}}}};
    const Json json{{"format", "lamina/1"}, {"name", "plot"}, {"graphs", {{"pe", graph}}}};
    const Model model = runtime.load(ModelDescription{"plot pe", json.in_one_line(), {}, {}});
    const Tensor zeros(TensorType{DType::f32, {1, options.max_len, options.d_model}});
    return runtime.session(model, runtime.device("reference")).run("pe", {{"x", zeros}}).at("y");
}

int64_t dimension(std::string_view text, const PlotOptions &options) {
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || value < 0 || value >= options.d_model)
        throw Error(ErrorCode::usage, "--dims " + options.dims + ": expected dimensions from 0 to " +
                                          std::to_string(options.d_model - 1) + ", like 4-7 or 0,2,4-7; found '" +
                                          std::string(text) + "'");
    return value;
}

// "0,2,4-7" -> 0 2 4 5 6 7. Without --dims: all, but for a line chart 4 to 7, which look best.
std::vector<int64_t> chosen_dimensions(const PlotOptions &options, bool lines) {
    std::string text = options.dims;
    if (text.empty()) text = lines && options.d_model >= 8 ? "4-7" : "0-" + std::to_string(options.d_model - 1);
    std::vector<int64_t> out;
    std::set<int64_t> seen;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const size_t dash = part.find('-');
        const int64_t first = dimension(std::string_view(part).substr(0, dash), options);
        const int64_t last =
            dash == std::string::npos ? first : dimension(std::string_view(part).substr(dash + 1), options);
        if (last < first)
            throw Error(ErrorCode::usage, "--dims " + text + ": '" + part + "' runs backwards; write " +
                                              std::to_string(last) + "-" + std::to_string(first));
        for (int64_t d = first; d <= last; ++d) {
            if (!options.dims.empty() && !seen.insert(d).second)
                throw Error(ErrorCode::usage, "--dims " + text + ": " + std::to_string(d) + " is given twice");
            out.push_back(d);
        }
    }
    return out;
}

// Only the chosen columns of the table.
std::vector<float> columns(std::span<const float> table, const std::vector<int64_t> &dims, const PlotOptions &options) {
    std::vector<float> out;
    out.reserve(static_cast<size_t>(options.max_len) * dims.size());
    for (int64_t p = 0; p < options.max_len; ++p)
        for (const int64_t d : dims) out.push_back(table[static_cast<size_t>(p * options.d_model + d)]);
    return out;
}

std::string line_chart(std::span<const float> table, const std::vector<int64_t> &dims, const PlotOptions &options) {
    if (dims.size() > LineChart::most_series)
        throw Error(ErrorCode::usage, std::to_string(dims.size()) + " lines cannot be distinguished; choose at most " +
                                          std::to_string(LineChart::most_series) + " with --dims, or take --heat");
    LineChart chart{options.title, "position", "value", {}};
    for (const int64_t d : dims) {
        Series &series = chart.series.emplace_back(Series{"dim " + std::to_string(d), {}});
        for (int64_t p = 0; p < options.max_len; ++p)
            series.values.push_back(table[static_cast<size_t>(p * options.d_model + d)]);
    }
    return draw(chart);
}

std::string heat_map(std::span<const float> table, const std::vector<int64_t> &dims, const PlotOptions &options) {
    const std::vector<float> values = columns(table, dims, options);
    const bool all = dims.size() == static_cast<size_t>(options.d_model);
    return draw(HeatMap{.title = options.title,
                        .x_label = all ? "dimension" : "dimension, of those in " + options.dims,
                        .y_label = "position",
                        .rows = options.max_len,
                        .columns = static_cast<int64_t>(dims.size()),
                        .values = values,
                        .column_names = dims,
                        .limit = 1});
}

std::string csv(std::span<const float> table, const std::vector<int64_t> &dims, const PlotOptions &options) {
    std::string out = "position";
    for (const int64_t d : dims) out += ",dim " + std::to_string(d);
    out += '\n';
    for (int64_t p = 0; p < options.max_len; ++p) {
        out += std::to_string(p);
        for (const int64_t d : dims) {
            char digits[32];
            const auto end = std::to_chars(std::begin(digits), std::end(digits),
                                           table[static_cast<size_t>(p * options.d_model + d)]);
            out += ',';
            out.append(std::begin(digits), end.ptr); // the shortest that reads back as the same float
        }
        out += '\n';
    }
    return out;
}

std::string json(std::span<const float> table, const std::vector<int64_t> &dims, const PlotOptions &options) {
    Json rows = Json::array();
    const std::vector<float> values = columns(table, dims, options);
    for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(dims.size()))
        rows.push_back(std::vector<float>(row, row + static_cast<std::ptrdiff_t>(dims.size())));
    const Json out{{"d_model", options.d_model},
                   {"max_len", options.max_len},
                   {"layout", options.layout},
                   {"dims", dims},
                   {"values", rows}};
    return out.in_one_line() + "\n";
}

int plot(const PlotOptions &options, const GlobalOptions &global, Output &output) {
    if (options.d_model % 2 != 0)
        throw Error(ErrorCode::usage, "--d-model " + std::to_string(options.d_model) +
                                          ": expected an even number, since sines and cosines come in pairs");
    if (output.json() && (options.csv || options.heat))
        throw Error(ErrorCode::usage,
                    std::string(options.csv ? "--csv" : "--heat") +
                        " and --json cannot be used together: each is another form of the same numbers");
    check_output_file(options.file, "--output", output.json() ? ".json" : options.csv ? ".csv" : ".svg");
    const bool lines = !options.heat && !options.csv && !output.json();
    const std::vector<int64_t> dims = chosen_dimensions(options, lines);
    const Tensor table = positional_encoding(Runtime(global.runtime(output)), options);
    const auto form = output.json() ? json : options.csv ? csv : options.heat ? heat_map : line_chart;
    const std::string text = form(table.f32(), dims, options);
    if (options.file.empty()) {
        output.print(text);
    } else {
        write_file(options.file, text);
        output.note("wrote " + options.file.string());
    }
    return 0;
}

} // namespace

Command add_plot(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments group = lamina.command("plot", "Draw what a layer computes.");
    group.require_command();
    const Arguments app =
        group.command("pe", "Draw the positional encoding: lines over positions, a heat map, or its numbers.");
    app.footer("Example: lamina plot pe --d-model 20 --max-len 100 --dims 4-7 -o pe.svg");
    auto options = std::make_shared<PlotOptions>();
    app.option("--d-model", options->d_model, "N", "size of an encoding; must be even")
        .shows_default()
        .within(int64_t{1}, most_values);
    app.option("--max-len", options->max_len, "N", "number of positions, from 0")
        .shows_default()
        .within(int64_t{1}, most_values);
    app.option("--dims", options->dims, "LIST", "dimensions, like 4-7 or 0,2,4-7; default: all, or 4-7 for lines")
        .not_empty();
    app.choice("--layout", options->layout, {"interleaved", "halves"},
               "interleaved: sin, cos, sin, ...; halves: all sin, then all cos")
        .shows_default();
    app.option("--title", options->title, "TEXT", "title of the picture").shows_default();
    app.option("-o,--output", options->file, "FILE", "write to this file instead of stdout").not_empty();
    const Argument heat = app.flag("--heat", options->heat, "draw a heat map of positions and dimensions");
    app.flag("--csv", options->csv, "print numbers, one position per line").excludes(heat);
    return {app, [options, &global](Output &output) { return plot(*options, global, output); }};
}

} // namespace lamina::cli
