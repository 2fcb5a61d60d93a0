#include "conformance/case.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <ranges>
#include <span>
#include <sstream>

namespace lamina::conformance {
namespace {

constexpr std::array value_names{"normal", "offset",  "large",    "huge",     "overflow", "tiny",
                                 "small",  "spread",  "positive", "infinite", "equal",    "one_hot",
                                 "zeros",  "uniform", "one",      "max",      "every"};

bool fits(Values values, const lamina_port &port) {
    if (values == Values::zeros) return true;
    return (port.dtypes == LAMINA_I32) == (values >= Values::uniform);
}

std::optional<DType> weight_type(std::string_view name) {
    for (const plugin::StorageType &type : plugin::storage_types)
        if (name == type.name && (type.dtype & plugin::weight_dtypes) != 0) return DType{type.dtype};
    return std::nullopt;
}

std::span<const lamina_port> inputs_of(const lamina_layer &l) { return {l.inputs, l.n_inputs}; }
std::span<const lamina_port> weights_of(const lamina_layer &l) { return {l.weights, l.n_weights}; }
std::span<const lamina_port> states_of(const lamina_layer &l) { return {l.states, l.n_states}; }

// What a case of a layer may name.
struct Vocabulary {
    std::map<std::string, const lamina_param *, std::less<>> params;
    std::map<std::string, const lamina_port *, std::less<>> ports, optional;
    std::set<std::string, std::less<>> dims, stored;
    bool ellipsis = false;

    explicit Vocabulary(const lamina_layer &layer) {
        for (const lamina_param &p : std::span(layer.params, layer.n_params)) params[p.name] = &p;
        for (const auto list : {inputs_of(layer), weights_of(layer), states_of(layer)})
            for (const lamina_port &port : list) {
                const bool is_state = list.data() == layer.states;
                ports[port.name] = &port;
                if (is_state || (port.flags & LAMINA_OPTIONAL) != 0) optional[port.name] = &port;
                for (const std::string &name : abi::names_in(port.dims)) dims.insert(name);
                if (std::string_view(port.dims).starts_with("...")) dims.insert({"B", "T"}), ellipsis = true;
                if (is_state || list.data() == layer.weights) stored.insert(port.name);
            }
        for (const auto &[name, param] : params) dims.erase(name);
    }

    [[nodiscard]] std::vector<std::string> assignable() const {
        std::vector<std::string> names{"weights", "sample", "seed"};
        for (const auto &[name, p] : params) names.push_back(name);
        for (const auto &[name, p] : ports) names.push_back(name);
        names.insert(names.end(), dims.begin(), dims.end());
        return names;
    }
};

class Parser {
  public:
    Parser(const lamina_layer &layer, std::string_view text, uint64_t seed)
        : vocabulary_(layer), id_(layer.id), text_(text) {
        case_.seed = seed;
    }

    Case run() {
        std::istringstream words{std::string(text_)};
        for (std::string word; words >> word;) take(word);
        return std::move(case_);
    }

  private:
    [[noreturn]] void fail(const std::string &why) const {
        throw Error(ErrorCode::input, "case \"" + std::string(text_) + "\" of " + id_ + ": " + why);
    }

    template <class Number> Number number(std::string_view word, std::string_view text) const {
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size())
            fail("'" + std::string(word) + "': expected a number, found '" + std::string(text) + "'");
        return value;
    }

    void take(const std::string &word) {
        if (word.front() == '+') return give(word.substr(1));
        const size_t equals = word.find('=');
        if (equals == std::string::npos) fail("expected NAME=VALUE or +PORT, found '" + word + "'");
        const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
        const bool is_dtype = vocabulary_.stored.contains(name) && weight_type(value);
        if (!taken_.emplace(name, is_dtype).second) fail("'" + name + "' is given twice");
        if (name == "weights")
            case_.weights = dtype(word, value);
        else if (name == "sample")
            case_.sample = size(word, value);
        else if (name == "seed")
            case_.seed = number<uint64_t>(word, value);
        else if (const auto p = vocabulary_.params.find(name); p != vocabulary_.params.end())
            case_.params[name] = param(*p->second, word, value);
        else if (vocabulary_.dims.contains(name))
            case_.dims[name] = size(word, value);
        else if (name == "..." && vocabulary_.ellipsis)
            case_.axes = axes(word, value);
        else if (is_dtype)
            case_.dtypes[name] = dtype(word, value);
        else if (const auto port = vocabulary_.ports.find(name); port != vocabulary_.ports.end())
            case_.values[name] = values(*port->second, word, value);
        else
            fail("there is no parameter, dim or port '" + name + "'" + instead_of(name, vocabulary_.assignable()));
    }

    void give(const std::string &port) {
        if (!vocabulary_.optional.contains(port))
            fail("there is no optional port '" + port + "'" + instead_of(port, names_of(vocabulary_.optional)));
        case_.given.insert(port);
    }

    [[nodiscard]] DType dtype(const std::string &word, std::string_view value) const {
        if (const auto type = weight_type(value)) return *type;
        fail("'" + word + "': expected " + plugin::dtype_names(plugin::weight_dtypes));
    }

    [[nodiscard]] int64_t size(const std::string &word, std::string_view value) const {
        const auto n = number<int64_t>(word, value);
        if (n < 1 || n > int64_t{1} << 31) fail("'" + word + "': expected a size from 1 to 2147483648");
        return n;
    }

    [[nodiscard]] Shape axes(const std::string &word, const std::string &value) const {
        Shape out;
        std::istringstream parts(value);
        for (std::string part; std::getline(parts, part, 'x');) out.push_back(size(word, part));
        if (out.empty() || value.back() == 'x') fail("'" + word + "': expected sizes, as in ...=2x3x4");
        return out;
    }

    [[nodiscard]] abi::ParamValue param(const lamina_param &p, const std::string &word,
                                        const std::string &value) const {
        if (p.kind == LAMINA_CHOICE) return value;
        if (p.kind != LAMINA_BOOL) {
            const auto n = number<double>(word, value);
            if (!(std::abs(n) <= 0x1p53)) fail("'" + word + "': expected a number within 2^53 of 0");
            return n;
        }
        if (value != "0" && value != "1") fail("'" + word + "': expected 0 or 1");
        return value == "1";
    }

    [[nodiscard]] Values values(const lamina_port &port, const std::string &word, std::string_view value) const {
        std::string known;
        for (size_t i = 0; i < value_names.size(); ++i) {
            const auto v = static_cast<Values>(i);
            if (!fits(v, port)) continue;
            if (value == value_names[i]) return v;
            known += (known.empty() ? "" : ", ") + std::string(value_names[i]);
        }
        fail("'" + word + "': expected one of " + known);
    }

    const Vocabulary vocabulary_;
    const std::string id_;
    const std::string_view text_;
    Case case_;
    std::set<std::pair<std::string, bool>> taken_; // a weight has a dtype and values
};

std::string text_of(const abi::ParamValue &value) {
    if (const bool *b = std::get_if<bool>(&value)) return *b ? "1" : "0";
    if (const auto *s = std::get_if<std::string>(&value)) return *s;
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), std::get<double>(value)).ptr;
    return {digits.begin(), end};
}

// The sizes that a case fixes by itself: dims and integer parameters.
abi::Dims known_dims(const lamina_layer &layer, const Case &c, abi::Solver &solver) {
    abi::Dims dims(solver);
    for (const auto &[name, size] : c.dims) dims.set(name, size);
    abi::OpenShape leading(c.axes.begin(), c.axes.end());
    for (const char *axis : {"B", "T"})
        if (c.axes.empty() && c.dims.contains(axis)) leading.emplace_back(c.dims.at(axis));
    dims.set_leading(std::move(leading));
    for (const lamina_param &p : std::span(layer.params, layer.n_params)) {
        if (p.kind != LAMINA_INT) continue;
        const auto given = c.params.find(p.name);
        const double *number = given != c.params.end() ? std::get_if<double>(&given->second) : nullptr;
        dims.set(p.name, number != nullptr      ? abi::Size(static_cast<int64_t>(*number))
                         : p.follows != nullptr ? dims.names().find(p.follows)->second
                                                : abi::Size(static_cast<int64_t>(p.dflt)));
    }
    return dims;
}

int64_t small_size(std::string_view name) { return name == "B" ? 2 : name.starts_with("T") ? 5 : 8; }

bool is_batch_first(const Case &c) {
    const auto it = c.params.find("batch_first");
    return it == c.params.end() || !std::holds_alternative<bool>(it->second) || std::get<bool>(it->second);
}

// The shape of a port, with small sizes for names that are still unknown.
abi::OpenShape made_up(const lamina_port &port, abi::Dims &dims, bool batch_first) {
    for (const std::string &name : abi::names_in(port.dims))
        if (!dims.names().contains(name)) dims.set(name, small_size(name));
    return abi::reordered(dims.instantiate(port.dims), port, batch_first);
}

} // namespace

DType state_dtype(const lamina_port &port, const Case &c) {
    const auto own = c.dtypes.find(port.name);
    return own != c.dtypes.end() ? own->second : DType::f32;
}

std::optional<Values> usual_values(const lamina_layer &layer, std::string_view port) {
    const std::string given = "+" + std::string(port), named = std::string(port) + "=";
    std::optional<Values> out;
    for (const std::string_view text : std::span(layer.cases, layer.n_cases)) {
        bool has = false;
        std::optional<Values> values;
        for (const auto word : std::views::split(text, ' ')) {
            const std::string_view each(word.begin(), word.end());
            has = has || each == given;
            if (!each.starts_with(named)) continue;
            const auto at = std::ranges::find(value_names, each.substr(named.size()));
            if (at != value_names.end()) values = static_cast<Values>(at - value_names.begin());
        }
        if (!has) continue;
        if (!values || *values >= Values::infinite || (out && *out != *values)) return std::nullopt;
        out = values;
    }
    return out;
}

DType weight_dtype(const lamina_port &port, const Case &c) {
    const auto own = c.dtypes.find(port.name);
    const DType wanted = own != c.dtypes.end() ? own->second : c.weights;
    return (port.dtypes & static_cast<uint32_t>(wanted)) != 0 ? wanted : DType::f32;
}

std::vector<DType> state_dtypes(const lamina_port &port) {
    std::vector<DType> out;
    for (const plugin::StorageType &type : plugin::storage_types)
        if ((type.dtype & port.dtypes) != 0) out.push_back(DType{type.dtype});
    return out;
}

std::vector<DType> weight_dtypes(const lamina_layer &layer) {
    uint32_t taken = LAMINA_F32;
    for (const lamina_port &p : weights_of(layer)) taken |= p.dtypes;
    std::vector<DType> out;
    for (const plugin::StorageType &type : plugin::storage_types)
        if ((type.dtype & taken & plugin::weight_dtypes) != 0) out.push_back(DType{type.dtype});
    return out;
}

void fill_blocks(const lamina_layer &layer, Case &c) {
    const int64_t block = storage_of(c.weights).block_values;
    for (const lamina_port &p : weights_of(layer)) {
        if (weight_dtype(p, c) != c.weights) continue;
        const std::string_view dims = p.dims;
        const auto last = c.dims.find(dims.substr(dims.rfind(' ') + 1));
        if (last != c.dims.end()) last->second = (last->second + block - 1) / block * block;
    }
    for (const lamina_port &p : states_of(layer)) {
        const int64_t values = storage_of(state_dtype(p, c)).block_values;
        const std::string_view dims = p.dims;
        if (values == 1) continue;
        for (const std::string &name : abi::names_in(dims.substr(dims.rfind(' ') + 1)))
            if (const auto found = c.dims.find(name); found != c.dims.end())
                found->second = (found->second + 2 * values - 1) / (2 * values) * 2 * values;
    }
}

const char *name_of(Values values) { return value_names.at(static_cast<size_t>(values)); }

Case parse_case(const lamina_layer &layer, std::string_view text, uint64_t seed) {
    return Parser(layer, text, seed).run();
}

std::string to_string(const Case &c) {
    std::string out;
    for (size_t i = 0; i < c.axes.size(); ++i) out += (i == 0 ? "...=" : "x") + std::to_string(c.axes[i]);
    if (!c.axes.empty()) out += " ";
    for (const auto &[name, size] : c.dims) out += name + "=" + std::to_string(size) + " ";
    for (const auto &[name, value] : c.params) out += name + "=" + text_of(value) + " ";
    for (const std::string &port : c.given) out += "+" + port + " ";
    if (c.weights != DType::f32) out += std::string("weights=") + lamina::name_of(c.weights) + " ";
    for (const auto &[port, dtype] : c.dtypes) out += port + "=" + lamina::name_of(dtype) + " ";
    for (const auto &[port, values] : c.values) out += port + "=" + name_of(values) + " ";
    if (c.sample != 0) out += "sample=" + std::to_string(c.sample) + " ";
    return out + "seed=" + std::to_string(c.seed);
}

abi::CallTypes types_of(const lamina_layer &layer, const Case &c) {
    const bool batch_first = is_batch_first(c);
    abi::Solver solver;
    abi::Dims dims = known_dims(layer, c, solver);
    abi::CallTypes types;
    const auto take = [&](std::span<const lamina_port> ports, bool states, auto &out) {
        std::map<std::string, abi::OpenShape, std::less<>> bound; // including ports that another stands in for
        for (const lamina_port &port : ports) {
            const auto place = [&] { return std::string("port '") + port.name + "'"; };
            const bool optional = states || (port.flags & LAMINA_OPTIONAL) != 0;
            if (optional && !c.given.contains(port.name)) {
                if (port.follows == nullptr || !bound.contains(port.follows)) continue;
                const abi::OpenShape &shape = bound[port.name] = bound.at(port.follows);
                abi::located(place, [&] { dims.unify(port.dims, abi::reordered(shape, port, batch_first)); });
                continue;
            }
            const bool weight = ports.data() == layer.weights;
            const DType dtype = port.dtypes == LAMINA_I32 ? DType::i32
                                : weight                  ? weight_dtype(port, c)
                                : states                  ? state_dtype(port, c)
                                                          : DType::f32;
            out[port.name] = abi::located(place, [&] {
                bound[port.name] = made_up(port, dims, batch_first);
                return abi::OpenType(dtype, bound[port.name]).known(solver);
            });
        }
    };
    take(inputs_of(layer), false, types.in);
    take(weights_of(layer), false, types.weight);
    take(states_of(layer), true, types.state);
    return types;
}

abi::LayerCall call_of(const abi::Layer &layer, const Case &c) {
    return {layer, c.params, types_of(*layer.contract, c), std::string(layer.id()) + " \"" + to_string(c) + "\""};
}

namespace {

// Each value of an input is multiplied with so many others, and each row of it with the weights and the states.
double work_with(const abi::LayerCall &call, const std::function<double(const Shape &)> &others) {
    double rows = 0, work = 0;
    for (const TensorType &t : call.types(abi::PortList::in)) {
        if (t.shape.empty()) continue;
        const auto elements = static_cast<double>(element_count(t.shape));
        rows = std::max(rows, t.shape.size() < 2 ? 1 : elements / static_cast<double>(t.shape.back()));
        work += elements * others(t.shape);
    }
    for (const TensorType &t : call.types(abi::PortList::weight))
        if (!t.shape.empty()) work += rows * static_cast<double>(element_count(t.shape));
    for (const TensorType &t : call.types(abi::PortList::state))
        if (!t.shape.empty()) {
            const auto batch = static_cast<double>(t.shape.front());
            work += static_cast<double>(element_count(t.shape)) * std::max(1.0, rows / std::max(1.0, batch));
        }
    return work;
}

} // namespace

double work_of(const abi::LayerCall &call) {
    return work_with(call, [](const Shape &s) {
        return s.size() < 2 ? 1 : static_cast<double>(*std::max_element(s.begin(), s.end() - 1, std::less<>()));
    });
}

double linear_work_of(const abi::LayerCall &call) {
    return work_with(call, [](const Shape &) { return 1.0; });
}

double values_of(const abi::LayerCall &call) {
    double values = 0;
    for (const auto list : {abi::PortList::in, abi::PortList::weight, abi::PortList::state, abi::PortList::out})
        for (const TensorType &type : call.types(list)) {
            double size = type.shape.empty() ? 0 : 1;
            for (const int64_t d : type.shape) size *= static_cast<double>(d);
            values += size;
        }
    return values;
}

} // namespace lamina::conformance
