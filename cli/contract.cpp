#include "contract.hpp"

#include "table.hpp"

#include "base/joined.hpp"

#include <lamina/plugin/dtype.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <set>

namespace lamina::cli {
namespace {

constexpr double unbounded = 9007199254740992.0; // 2^53, up to which a double holds every integer exactly

std::string number(double value) {
    if (std::abs(value) >= unbounded) return value < 0 ? "-inf" : "inf";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), value == std::floor(value) && std::abs(value) < 1e15 ? "%.0f" : "%g",
                  value);
    return text.data();
}

const char *name_of(LayerParam::Kind kind) {
    switch (kind) {
    case LayerParam::Kind::integer:
        return "integer";
    case LayerParam::Kind::real:
        return "real";
    case LayerParam::Kind::boolean:
        return "boolean";
    case LayerParam::Kind::choice:
        break;
    }
    return "choice";
}

std::vector<std::string> dtype_names(const std::vector<DType> &dtypes) {
    std::vector<std::string> out;
    for (const DType dtype : dtypes) out.emplace_back(lamina::name_of(dtype));
    return out;
}

// "0 V" -> "0 <= i < V"
std::string values_of(const LayerPort &port) {
    if (port.values.empty()) return "";
    const size_t blank = port.values.find(' ');
    return port.values.substr(0, blank) + " <= i < " + port.values.substr(blank + 1);
}

std::string default_of(const LayerParam &param) {
    if (!param.follows.empty()) return "as " + param.follows;
    if (param.required) return "required";
    if (param.kind == LayerParam::Kind::boolean) return param.default_value != 0 ? "true" : "false";
    if (param.kind == LayerParam::Kind::choice) return param.choices.at(static_cast<size_t>(param.default_value));
    return number(param.default_value);
}

std::string range_of(const LayerParam &param) {
    if (param.kind == LayerParam::Kind::boolean) return "true, false";
    if (param.kind == LayerParam::Kind::choice) return joined(param.choices, ", ");
    if (std::abs(param.max) >= unbounded) return ">= " + number(param.min);
    return number(param.min) + " to " + number(param.max);
}

std::string presence_of(const LayerPort &port) {
    if (!port.follows.empty()) return (port.capacity.empty() ? "as " : "with ") + port.follows;
    return port.optional ? "optional" : "required";
}

std::string params_as_text(const LayerContract &layer, const Output &output) {
    Table table({"PARAMETER", "KIND", "DEFAULT", "RANGE", ""});
    for (const LayerParam &p : layer.params)
        table.row({{p.name, Style::bold}, name_of(p.kind), default_of(p), range_of(p), p.summary});
    return table.empty() ? "" : "\n" + table.str(output);
}

std::string ports_as_text(const char *title, const std::vector<LayerPort> &ports, const Output &output) {
    Table table({title, "DIMS", "DTYPES", "PRESENCE", "VALUES", ""});
    for (const LayerPort &p : ports)
        table.row({{p.name, Style::bold},
                   p.dims,
                   joined(dtype_names(p.dtypes), " "),
                   presence_of(p),
                   values_of(p),
                   p.summary});
    return table.empty() ? "" : "\n" + table.str(output);
}

std::string variants_as_text(const LayerContract &layer, const Output &output) {
    Table table({"VARIANT", "ARITHMETIC", "NEEDS", ""});
    const auto add = [&](const LayerVariant &v, const std::string &needs) {
        table.row({{v.name, Style::bold}, lamina::name_of(v.arithmetic), needs, v.summary});
    };
    for (const LayerVariant &v : layer.variants) add(v, v.needs.empty() ? "nothing" : joined(v.needs, " "));
    for (const LayerVariant &v : layer.cpu_variants) add(v, "the device cpu");
    return "\n" + table.str(output);
}

Json variants_as_json(const std::vector<LayerVariant> &variants) {
    Json out = Json::array();
    for (const LayerVariant &v : variants)
        out.push_back({{"name", v.name},
                       {"summary", v.summary},
                       {"needs", v.needs},
                       {"arithmetic", lamina::name_of(v.arithmetic)}});
    return out;
}

Json ports_as_json(const std::vector<LayerPort> &ports) {
    Json out = Json::array();
    for (const LayerPort &p : ports) {
        Json port{{"name", p.name},         {"summary", p.summary},
                  {"dims", p.dims},         {"dtypes", dtype_names(p.dtypes)},
                  {"optional", p.optional}, {"sequence", p.sequence}};
        if (!p.values.empty()) port["values"] = p.values;
        if (!p.follows.empty()) port["follows"] = p.follows;
        out.push_back(std::move(port));
    }
    return out;
}

Json param_as_json(const LayerParam &p) {
    Json out{{"name", p.name}, {"summary", p.summary}, {"kind", name_of(p.kind)}, {"required", p.required}};
    if (!p.follows.empty()) out["follows"] = p.follows;
    if (p.kind == LayerParam::Kind::choice) {
        out["default"] = default_of(p);
        out["choices"] = p.choices;
    } else if (p.kind == LayerParam::Kind::boolean) {
        out["default"] = p.default_value != 0;
    } else {
        out["default"] = p.default_value;
        out["min"] = p.min;
        out["max"] = p.max;
    }
    return out;
}

} // namespace

std::string contract_as_text(const LayerContract &layer, const Output &output) {
    std::string out = output.styled(layer.id, Style::bold) + " " + layer.version + ": " + layer.summary + "\n";
    if (!layer.source.empty()) out += "source:    " + layer.source + "\n";
    out += "signature: " + layer.signature + "\n";
    if (!layer.fuses.empty()) out += "fuses:     " + joined(layer.fuses) + ", where they stand together\n";
    if (!layer.work.empty()) out += "work:      " + layer.work + " operations for each value of the first output\n";
    out += "file:      " + layer.path.string() + "\n";
    out += params_as_text(layer, output);
    out += ports_as_text("INPUT", layer.inputs, output);
    out += ports_as_text("WEIGHT", layer.weights, output);
    out += ports_as_text("OUTPUT", layer.outputs, output);
    out += ports_as_text("STATE", layer.states, output);
    out += variants_as_text(layer, output);
    Table tolerances({"TOLERANCE", {"RELATIVE", Align::right}, {"ABSOLUTE", Align::right}});
    for (const LayerTolerance &t : layer.tolerances)
        tolerances.row({{lamina::name_of(t.arithmetic), Style::bold}, number(t.rtol), number(t.atol)});
    return out + "\n" + tolerances.str(output);
}

std::vector<std::string> kernels_left_out(const Plugins &plugins) {
    std::set<std::string> out;
    for (const auto &[id, layer] : plugins.layers)
        for (const LayerKernel &kernel : layer.kernels)
            if (kernel.bytes == 0) out.insert(kernel.name);
    return {out.begin(), out.end()};
}

Json contract_as_json(const LayerContract &layer) {
    Json params = Json::array(), kernels = Json::array(), tolerances = Json::array();
    for (const LayerParam &p : layer.params) params.push_back(param_as_json(p));
    for (const LayerKernel &k : layer.kernels) kernels.push_back({{"name", k.name}, {"bytes", k.bytes}});
    for (const LayerTolerance &t : layer.tolerances)
        tolerances.push_back({{"arithmetic", lamina::name_of(t.arithmetic)}, {"rtol", t.rtol}, {"atol", t.atol}});
    return {{"id", layer.id},
            {"version", layer.version},
            {"summary", layer.summary},
            {"source", layer.source},
            {"signature", layer.signature},
            {"work", layer.work.empty() ? Json() : Json(layer.work)},
            {"path", layer.path.string()},
            {"params", params},
            {"inputs", ports_as_json(layer.inputs)},
            {"weights", ports_as_json(layer.weights)},
            {"outputs", ports_as_json(layer.outputs)},
            {"states", ports_as_json(layer.states)},
            {"kernels", kernels},
            {"variants", variants_as_json(layer.variants)},
            {"cpu_variants", variants_as_json(layer.cpu_variants)},
            {"tolerances", tolerances},
            {"cases", layer.cases}};
}

} // namespace lamina::cli
