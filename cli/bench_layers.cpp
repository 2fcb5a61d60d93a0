#include "bench_layers.hpp"

#include "interrupt.hpp"

#include <cmath>
#include <sstream>

namespace lamina::cli {
namespace {

std::vector<Sheet::Heading> headings(const LayerBench &how) {
    std::vector<Sheet::Heading> out{{"layer", "LAYER"},
                                    {"case", "CASE"},
                                    {"variant", "VARIANT"},
                                    {"runs", "RUNS", Align::right},
                                    {"median_seconds", "TIME", Align::right},
                                    {"low_seconds", "", Align::right},
                                    {"high_seconds", "", Align::right},
                                    {"spread", "SPREAD", Align::right},
                                    {"clock", ""},
                                    {"bytes", "", Align::right},
                                    {"operations", "", Align::right},
                                    {"gflop_per_second", "GFLOP/S", Align::right},
                                    {"gb_per_second", "GB/S", Align::right},
                                    {"share_of_limit", "OF LIMIT", Align::right}};
    if (how.measure.all_variants) out.push_back({"times_as_fast_as_the_first_variant", "GAIN", Align::right});
    if (how.measure.yardstick) {
        out.push_back({"openblas_seconds", "OPENBLAS", Align::right});
        out.push_back({"times_as_fast_as_openblas", "RATIO", Align::right});
    }
    if (how.beside) {
        out.push_back({"beside_seconds", how.beside->id, Align::right});
        out.push_back({"times_as_fast_as_beside", "RATIO", Align::right});
    }
    return out;
}

Entry number(double value, int digits, const std::string &unit = "") {
    return {Json(value), significant(value, digits) + unit};
}

// The time of something else, and how many times as fast this is.
void add_ratio(std::vector<Entry> &row, const std::optional<double> &other, double own) {
    if (!other) {
        row.insert(row.end(), 2, Entry::none());
        return;
    }
    row.emplace_back(Json(*other), duration(*other));
    row.push_back(number(*other / own, 3, "x"));
}

// `baseline`: the first variant that can compute the case; null for that one itself.
std::vector<Entry> row_of(const LayerMeasurement &m, const LayerMeasurement *baseline, const Limits &limits,
                          const LayerBench &how, const std::optional<double> &beside) {
    const Spread &t = m.time;
    std::vector<Entry> row{m.layer, m.case_text, m.variant, {Json(t.runs), grouped(static_cast<int64_t>(t.runs))}};
    row.emplace_back(Json(t.median), duration(t.median));
    row.push_back(number(t.low, 4));
    row.push_back(number(t.high, 4));
    const double spread = (t.high - t.low) / t.median;
    row.emplace_back(Json(spread), grouped(std::lround(100 * spread)) + " %");
    row.emplace_back(m.device_clock ? "device" : "host");
    row.push_back(number(m.cost.bytes, 15));
    row.push_back(m.cost.operations == 0 ? Entry::none() : number(m.cost.operations, 15));
    row.push_back(m.cost.operations == 0 ? Entry::none() : number(m.cost.operations / t.median * 1e-9, 3));
    row.push_back(number(m.cost.bytes / t.median * 1e-9, 3));
    const double share = limits.least_seconds(m.cost) / t.median;
    row.emplace_back(Json(share), significant(share, 2));
    if (how.measure.all_variants)
        row.push_back(baseline == nullptr ? Entry::none() : number(baseline->time.median / t.median, 3, "x"));
    if (how.measure.yardstick) add_ratio(row, m.openblas ? std::optional(m.openblas->median) : std::nullopt, t.median);
    if (how.beside) add_ratio(row, beside, t.median);
    return row;
}

std::vector<Entry> row_of_refused(const LayerMeasurement &m, size_t columns) {
    std::vector<Entry> row{m.layer, m.case_text, m.variant};
    row.resize(columns, Entry::none());
    return row;
}

} // namespace

std::vector<std::string> expanded(const std::string &case_text) {
    std::vector<std::string> out{""};
    std::istringstream words(case_text);
    for (std::string word; words >> word;) {
        const size_t equals = word.find('=');
        std::vector<std::string> choices;
        std::istringstream values(equals == std::string::npos ? word : word.substr(equals + 1));
        for (std::string value; std::getline(values, value, ',');)
            choices.push_back(equals == std::string::npos ? value : word.substr(0, equals + 1) + value);
        if (choices.empty() || word.ends_with(',')) choices = {word}; // parse errors are for the layer to report
        std::vector<std::string> longer;
        for (const std::string &begin : out)
            for (const std::string &choice : choices) longer.push_back(begin + (begin.empty() ? "" : " ") + choice);
        out = std::move(longer);
    }
    return out;
}

LayerResults bench_layers(const Runtime &runtime, const Device &device, const Limits &limits,
                          const std::vector<std::string> &layers, const LayerBench &how, const Assignments &variants,
                          Output &output) {
    const std::vector<Sheet::Heading> columns = headings(how);
    LayerResults out{Sheet(columns)};
    std::vector<std::string> cases;
    for (const std::string &text : how.cases)
        for (std::string &one : expanded(text)) cases.push_back(std::move(one));
    if (cases.empty()) cases.emplace_back();
    size_t done = 0;
    for (const std::string &layer : layers)
        for (const std::string &text : cases) {
            stop_if_interrupted();
            output.progress(layer, done++, layers.size() * cases.size());
            MeasureOptions here = how.measure;
            if (const auto named = variants.find(layer); named != variants.end()) here.variant = named->second;
            const std::vector<LayerMeasurement> measured = measure_layer(runtime, device, layer, text, here);
            out.measured.insert(out.measured.end(), measured.begin(), measured.end());
            std::optional<double> beside;
            if (how.beside) {
                MeasureOptions there;
                there.seconds = how.measure.seconds;
                beside = measure_layer(runtime, *how.beside, layer, text, there).front().time.median;
            }
            const LayerMeasurement *baseline = nullptr;
            for (const LayerMeasurement &m : measured) {
                if (m.why_not.empty()) {
                    out.sheet.row(row_of(m, baseline, limits, how, beside));
                    if (baseline == nullptr) baseline = &m;
                } else if (!how.without_refused) {
                    output.note(m.layer + ", " + m.variant + " was not measured: " + m.why_not);
                    out.sheet.row(row_of_refused(m, columns.size()));
                }
            }
        }
    output.clear_progress();
    return out;
}

} // namespace lamina::cli
