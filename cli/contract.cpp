#include "contract.hpp"

#include "table.hpp"

#include <lamina/plugin/dtype.hpp>

#include <array>
#include <cmath>
#include <span>

namespace lamina::cli {
namespace {

constexpr double unbounded = 9007199254740992.0; // 2^53: as far as integers are exact in a double

template <class T> std::span<const T> list(const T *first, uint32_t n) { return {first, n}; }

std::string number(double value) {
    if (std::abs(value) >= unbounded) return value < 0 ? "-inf" : "inf";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), value == std::floor(value) && std::abs(value) < 1e15 ? "%.0f" : "%g",
                  value);
    return text.data();
}

std::vector<std::string> choices_of(const lamina_param &param) {
    std::vector<std::string> out;
    std::string_view rest = param.choices == nullptr ? "" : param.choices;
    while (!rest.empty()) {
        const std::string_view choice = rest.substr(0, rest.find('|'));
        out.emplace_back(choice);
        rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
    }
    return out;
}

std::string kind_of(const lamina_param &param) {
    switch (param.kind) {
    case LAMINA_INT:
        return "integer";
    case LAMINA_REAL:
        return "real";
    case LAMINA_BOOL:
        return "boolean";
    default:
        return "choice";
    }
}

// Each of the set bits by name, in the order of the table.
std::vector<std::string> names_of_bits(uint64_t bits, std::span<const std::pair<uint64_t, const char *>> table) {
    std::vector<std::string> out;
    for (const auto &[bit, name] : table)
        if ((bits & bit) != 0) out.emplace_back(name);
    return out;
}

std::vector<std::string> dtypes_of(uint64_t bits) {
    std::vector<std::pair<uint64_t, const char *>> table;
    for (const plugin::StorageType &type : plugin::storage_types) table.emplace_back(type.dtype, type.name);
    return names_of_bits(bits, table);
}

std::vector<std::string> features_of(uint64_t bits) {
    static constexpr std::array<std::pair<uint64_t, const char *>, 8> table{
        {{LAMINA_FEATURE_FLOAT16, "float16"},
         {LAMINA_FEATURE_STORAGE16, "storage16"},
         {LAMINA_FEATURE_SUBGROUP_BASIC, "subgroup_basic"},
         {LAMINA_FEATURE_SUBGROUP_ARITHMETIC, "subgroup_arithmetic"},
         {LAMINA_FEATURE_SUBGROUP_SHUFFLE, "subgroup_shuffle"},
         {LAMINA_FEATURE_SUBGROUP_BALLOT, "subgroup_ballot"},
         {LAMINA_FEATURE_INT64, "int64"},
         {LAMINA_FEATURE_COOPERATIVE_MATRIX, "cooperative_matrix"}}};
    return names_of_bits(bits, table);
}

std::string joined(const std::vector<std::string> &words, const char *separator) {
    std::string out;
    for (const std::string &word : words) out += (out.empty() ? "" : separator) + word;
    return out;
}

// "0 V" -> "0 <= i < V"
std::string values_of(const lamina_port &port) {
    if (port.values == nullptr) return "";
    const std::string_view values = port.values;
    const size_t blank = values.find(' ');
    return std::string(values.substr(0, blank)) + " <= i < " + std::string(values.substr(blank + 1));
}

std::string default_of(const lamina_param &param) {
    if (param.follows != nullptr) return "as " + std::string(param.follows);
    if ((param.flags & LAMINA_REQUIRED) != 0) return "required";
    if (param.kind == LAMINA_BOOL) return param.dflt != 0 ? "true" : "false";
    if (param.kind == LAMINA_CHOICE) return choices_of(param).at(static_cast<size_t>(param.dflt));
    return number(param.dflt);
}

std::string range_of(const lamina_param &param) {
    if (param.kind == LAMINA_BOOL) return "true, false";
    if (param.kind == LAMINA_CHOICE) return joined(choices_of(param), ", ");
    if (std::abs(param.max) >= unbounded) return ">= " + number(param.min);
    return number(param.min) + " to " + number(param.max);
}

std::string presence_of(const lamina_port &port) {
    if (port.follows != nullptr) return (port.capacity != nullptr ? "with " : "as ") + std::string(port.follows);
    return (port.flags & LAMINA_OPTIONAL) != 0 ? "optional" : "required";
}

std::string params_as_text(const lamina_layer &layer, const Output &output) {
    Table table({"PARAMETER", "KIND", "DEFAULT", "RANGE", ""});
    for (const lamina_param &p : list(layer.params, layer.n_params))
        table.row({{p.name, Style::bold}, kind_of(p), default_of(p), range_of(p), p.summary});
    return table.empty() ? "" : "\n" + table.str(output);
}

std::string ports_as_text(const char *title, std::span<const lamina_port> ports, const Output &output) {
    Table table({title, "DIMS", "DTYPES", "PRESENCE", "VALUES", ""});
    for (const lamina_port &p : ports)
        table.row(
            {{p.name, Style::bold}, p.dims, joined(dtypes_of(p.dtypes), " "), presence_of(p), values_of(p), p.summary});
    return table.empty() ? "" : "\n" + table.str(output);
}

std::string variants_as_text(const lamina_layer &layer, const Output &output) {
    Table table({"VARIANT", "ARITHMETIC", "NEEDS", ""});
    for (const lamina_variant &v : list(layer.variants, layer.n_variants)) {
        const std::string needs = joined(features_of(v.needs), " ");
        table.row({{v.name, Style::bold},
                   joined(dtypes_of(v.arithmetic), " "),
                   needs.empty() ? "nothing" : needs,
                   v.summary});
    }
    return "\n" + table.str(output);
}

Json port_as_json(const lamina_port &p) {
    Json out{{"name", p.name},
             {"summary", p.summary},
             {"dims", p.dims},
             {"dtypes", dtypes_of(p.dtypes)},
             {"optional", (p.flags & LAMINA_OPTIONAL) != 0},
             {"sequence", (p.flags & LAMINA_SEQUENCE) != 0}};
    if (p.values != nullptr) out["values"] = p.values;
    if (p.follows != nullptr) out["follows"] = p.follows;
    return out;
}

Json ports_as_json(std::span<const lamina_port> ports) {
    Json out = Json::array();
    for (const lamina_port &p : ports) out.push_back(port_as_json(p));
    return out;
}

Json param_as_json(const lamina_param &p) {
    Json out{
        {"name", p.name}, {"summary", p.summary}, {"kind", kind_of(p)}, {"required", (p.flags & LAMINA_REQUIRED) != 0}};
    if (p.follows != nullptr) out["follows"] = p.follows;
    if (p.kind == LAMINA_CHOICE) {
        out["default"] = default_of(p);
        out["choices"] = choices_of(p);
    } else if (p.kind == LAMINA_BOOL) {
        out["default"] = p.dflt != 0;
    } else {
        out["default"] = p.dflt;
        out["min"] = p.min;
        out["max"] = p.max;
    }
    return out;
}

} // namespace

std::string contract_as_text(const abi::Layer &layer, const Output &output) {
    const lamina_layer &c = *layer.contract;
    std::string out = output.styled(c.id, Style::bold) + " " + c.version + ": " + c.summary + "\n";
    if (*c.source != '\0') out += "source: " + std::string(c.source) + "\n";
    out += "file:   " + layer.path.string() + "\n";
    out += params_as_text(c, output);
    out += ports_as_text("INPUT", list(c.inputs, c.n_inputs), output);
    out += ports_as_text("WEIGHT", list(c.weights, c.n_weights), output);
    out += ports_as_text("OUTPUT", list(c.outputs, c.n_outputs), output);
    out += ports_as_text("STATE", list(c.states, c.n_states), output);
    out += variants_as_text(c, output);
    Table tolerances({"TOLERANCE", {"RELATIVE", Align::right}, {"ABSOLUTE", Align::right}});
    for (const lamina_tolerance &t : list(c.tolerances, c.n_tolerances))
        tolerances.row({{joined(dtypes_of(t.arithmetic), " "), Style::bold}, number(t.rtol), number(t.atol)});
    return out + "\n" + tolerances.str(output);
}

Json contract_as_json(const abi::Layer &layer) {
    const lamina_layer &c = *layer.contract;
    Json params = Json::array(), kernels = Json::array(), variants = Json::array(), tolerances = Json::array(),
         cases = Json::array();
    for (const lamina_param &p : list(c.params, c.n_params)) params.push_back(param_as_json(p));
    for (const lamina_kernel &k : list(c.kernels, c.n_kernels))
        kernels.push_back({{"name", k.name}, {"bytes", k.words * 4}});
    for (const lamina_variant &v : list(c.variants, c.n_variants))
        variants.push_back({{"name", v.name},
                            {"summary", v.summary},
                            {"needs", features_of(v.needs)},
                            {"arithmetic", joined(dtypes_of(v.arithmetic), " ")}});
    for (const lamina_tolerance &t : list(c.tolerances, c.n_tolerances))
        tolerances.push_back(
            {{"arithmetic", joined(dtypes_of(t.arithmetic), " ")}, {"rtol", t.rtol}, {"atol", t.atol}});
    for (const char *text : list(c.cases, c.n_cases)) cases.push_back(text);
    return {{"id", c.id},
            {"version", c.version},
            {"summary", c.summary},
            {"source", c.source},
            {"path", layer.path.string()},
            {"params", params},
            {"inputs", ports_as_json(list(c.inputs, c.n_inputs))},
            {"weights", ports_as_json(list(c.weights, c.n_weights))},
            {"outputs", ports_as_json(list(c.outputs, c.n_outputs))},
            {"states", ports_as_json(list(c.states, c.n_states))},
            {"kernels", kernels},
            {"variants", variants},
            {"tolerances", tolerances},
            {"cases", cases}};
}

} // namespace lamina::cli
