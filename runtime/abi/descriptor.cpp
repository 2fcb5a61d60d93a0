#include "abi/descriptor.hpp"

#include "abi/contract.hpp"
#include "abi/open_call.hpp"
#include "abi/work.hpp"

#include <lamina/plugin.hpp> // LAMINA_SANITIZER: what this host was built with

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <sstream>
#include <tuple>

namespace lamina::abi {
namespace {

// The loosest tolerances that a plugin may declare, by arithmetic.
constexpr double max_rtol_f32 = 1e-3, max_rtol_f16 = 2e-2, max_rtol_q8_0 = 1e-1;
constexpr double max_atol = 1e-3, max_atol_q8_0 = 1e-2;

// The size of each struct in version 1.0, in bytes. A smaller size is refused.
#define LAMINA_UP_TO(type, field) (offsetof(type, field) + sizeof(type::field))
constexpr size_t layer_1_0 = LAMINA_UP_TO(lamina_layer, plan),
                 executor_1_0 = LAMINA_UP_TO(lamina_executor, kernel_size),
                 param_1_0 = LAMINA_UP_TO(lamina_param, flags), port_1_0 = LAMINA_UP_TO(lamina_port, flags),
                 variant_1_0 = LAMINA_UP_TO(lamina_variant, reserved),
                 tolerance_1_0 = LAMINA_UP_TO(lamina_tolerance, reserved),
                 cpu_kernel_1_0 = LAMINA_UP_TO(lamina_cpu_kernel, run);
#undef LAMINA_UP_TO

bool blank(const char *text) { return text == nullptr || *text == '\0'; }

bool is_identifier(const char *text) {
    if (blank(text)) return false;
    for (const char *c = text; *c != '\0'; ++c)
        if (!((*c >= 'a' && *c <= 'z') || *c == '_' || (c != text && *c >= '0' && *c <= '9'))) return false;
    return true;
}

std::string fault_of_params(const lamina_layer &layer) {
    std::set<std::string> seen;
    for (uint32_t i = 0; i < layer.n_params; ++i) {
        const lamina_param &p = layer.params[i];
        if (!is_identifier(p.name)) return "parameter " + std::to_string(i) + " has no lower_case name";
        const std::string name = std::string("parameter '") + p.name + "'";
        if (p.kind < LAMINA_INT || p.kind > LAMINA_CHOICE) return name + ": unknown kind " + std::to_string(p.kind);
        if ((p.kind == LAMINA_CHOICE) == blank(p.choices))
            return name + ": a parameter of kind CHOICE needs choices, and no other kind has any";
        if (p.follows != nullptr && !seen.contains(p.follows))
            return name + " follows '" + p.follows + "', which is not listed before it";
        if (!(p.min <= p.max)) return name + ": min is greater than max";
        constexpr double exact = 1LL << 53; // beyond, a double does not hold every whole number
        if (p.kind == LAMINA_INT && !(p.min >= -exact && p.max <= exact))
            return name + ": expected whole numbers within 2^53 of 0";
        if ((p.flags & LAMINA_REQUIRED) == 0 && p.follows == nullptr && !(p.dflt >= p.min && p.dflt <= p.max))
            return name + ": the default is outside the range from min to max";
        if (!seen.insert(p.name).second) return name + " appears twice";
    }
    return "";
}

std::set<std::string> optional_inputs(const lamina_layer &layer) {
    std::set<std::string> out;
    for (const lamina_port *p = layer.inputs; p != layer.inputs + layer.n_inputs; ++p)
        if (p->name != nullptr && (p->flags & LAMINA_OPTIONAL) != 0) out.insert(p->name);
    return out;
}

// stand_in: a port may follow an earlier port of the list, which then replaces it. Otherwise it may follow only
// `leaders`.
std::string fault_of_ports(const lamina_port *ports, uint32_t n, const char *list, bool stand_in,
                           const std::set<std::string> &leaders = {}) {
    std::set<std::string> seen;
    for (uint32_t i = 0; i < n; ++i) {
        const lamina_port &p = ports[i];
        if (!is_identifier(p.name)) return std::string(list) + " " + std::to_string(i) + " has no lower_case name";
        const std::string name = std::string(list) + " '" + p.name + "'";
        if (blank(p.dims)) return name + " has no dims";
        if (p.dtypes == 0) return name + " has no dtype that this host knows";
        const uint32_t blocks = p.dtypes & plugin::block_dtypes;
        if (blocks != 0 && std::string_view(list) != "weight" &&
            (std::string_view(list) != "state" || blocks != LAMINA_Q8_0))
            return name + ": only weights are stored in blocks, and states in those of q8_0";
        if (p.follows != nullptr)
            for (const std::string &earlier : names_in(p.follows)) {
                if ((stand_in ? seen : leaders).contains(earlier)) continue;
                return name + " follows '" + earlier + "', which " +
                       (stand_in ? "is not listed before it" : "is not an optional input");
            }
        if (p.values != nullptr && p.dtypes != LAMINA_I32) return name + ": only I32 ports may declare values";
        if ((p.flags & LAMINA_PROBABILITIES) != 0 && std::string_view(list) != "output")
            return name + ": only outputs may be probabilities";
        if ((p.flags & LAMINA_BY_ROWS) != 0 && std::string_view(list) != "output")
            return name + ": only outputs are computed by rows";
        if ((p.flags & LAMINA_MARGIN) != 0 && (std::string_view(list) != "output" || p.dtypes != LAMINA_F32))
            return name + ": only F32 outputs say how clear a choice is";
        if (p.capacity != nullptr && std::string_view(list) != "state")
            return name + ": only states may have a capacity";
        if (!seen.insert(p.name).second) return name + " appears twice";
        try {
            (void)names_in(p.dims);
            if (p.values != nullptr && std::istringstream(p.values).str().find(' ') == std::string::npos)
                return name + ": expected values of the form \"LO HI\", found \"" + p.values + "\"";
            if (p.values != nullptr) (void)names_in(p.values);
        } catch (const Error &e) {
            return name + ": " + e.what();
        }
    }
    return "";
}

bool names(const char *dims, std::string_view name) {
    const std::vector<std::string> all = names_in(dims);
    return std::find(all.begin(), all.end(), name) != all.end();
}

// The dim that the host chooses must be in this state's dims, and in no other port's.
std::string fault_of_capacities(const lamina_layer &layer) {
    for (const lamina_port &state : ports_of(layer, PortList::state).ports) {
        if (state.capacity == nullptr) continue;
        const std::string name = std::string("state '") + state.name + "': capacity '" + state.capacity + "'";
        if (!names(state.dims, state.capacity)) return name + " is not a name in its dims (" + state.dims + ")";
        if (place_of_name(layer.params, layer.n_params, state.capacity) != layer.n_params)
            return name + " is a parameter";
        for (const PortList list : {PortList::in, PortList::weight})
            for (const lamina_port &port : ports_of(layer, list).ports)
                if (names(port.dims, state.capacity))
                    return name + " is determined by '" + port.name + "', so the host cannot choose it";
    }
    return "";
}

// An output that follows an input is a choice, which the input replaces, and the layer says how clear it is.
std::string fault_of_choices(const lamina_layer &layer) {
    const auto outputs = ports_of(layer, PortList::out).ports, inputs = ports_of(layer, PortList::in).ports;
    const auto margins =
        std::ranges::count_if(outputs, [](const lamina_port &port) { return (port.flags & LAMINA_MARGIN) != 0; });
    int64_t choices = 0;
    for (const lamina_port &port : outputs) {
        if (port.follows == nullptr) continue;
        ++choices;
        const std::string name = std::string("output '") + port.name + "'";
        const lamina_port &given = inputs[place_of_name(inputs.data(), layer.n_inputs, port.follows)];
        const auto same = [](const char *a, const char *b) {
            return a != nullptr && b != nullptr && std::string_view(a) == b;
        };
        if (port.dtypes != LAMINA_I32 || given.dtypes != LAMINA_I32 || !same(port.dims, given.dims) ||
            !same(port.values, given.values))
            return name + " follows '" + port.follows + "': expected I32 with the same dims and values in both";
    }
    if (choices != margins || choices > 1)
        return "expected one output that says how clear the choice is (LAMINA_MARGIN) if an output follows an input, "
               "and else none";
    return "";
}

std::string fault_of_kernels(const lamina_layer &layer) {
    if (layer.n_kernels == 0 || layer.kernels == nullptr) return "no kernels";
    for (uint32_t i = 0; i < layer.n_kernels; ++i) {
        const lamina_kernel &k = layer.kernels[i];
        if (blank(k.name)) return "kernel " + std::to_string(i) + " has no name";
        if (k.spirv == nullptr && k.words == 0) continue; // left out of this build
        // What it consists of is read when it is first used: few runs need all kernels, and none on the CPU.
        if (k.spirv == nullptr || k.words < 5) return std::string("kernel '") + k.name + "' is not SPIR-V";
    }
    if (layer.n_variants == 0 || layer.variants == nullptr) return "no variants";
    for (uint32_t i = 0; i < layer.n_variants; ++i) {
        if (blank(layer.variants[i].name)) return "variant " + std::to_string(i) + " has no name";
        for (uint32_t j = 0; j < i; ++j)
            if (std::string(layer.variants[i].name) == layer.variants[j].name)
                return std::string("variant '") + layer.variants[i].name + "' appears twice";
    }
    if (layer.variants[0].needs != 0)
        return std::string("variant 0, '") + layer.variants[0].name +
               "', is the baseline and must not need any features";
    return "";
}

std::string fault_of_tolerances(const lamina_layer &layer) {
    if (layer.n_tolerances == 0 || layer.tolerances == nullptr) return "no tolerances";
    for (uint32_t i = 0; i < layer.n_tolerances; ++i) {
        const lamina_tolerance &t = layer.tolerances[i];
        const bool eight_bits = t.arithmetic == LAMINA_Q8_0;
        const double cap = t.arithmetic == LAMINA_F32 ? max_rtol_f32 : eight_bits ? max_rtol_q8_0 : max_rtol_f16;
        const double atol_cap = eight_bits ? max_atol_q8_0 : max_atol;
        if (!(t.rtol >= 0 && t.rtol <= cap) || !(t.atol >= 0 && t.atol <= atol_cap)) {
            std::ostringstream out;
            out << "tolerance " << i << " is looser than a plugin may declare: expected rtol <= " << cap
                << " and atol <= " << atol_cap << ", found " << t.rtol << " and " << t.atol;
            return out.str();
        }
    }
    for (uint32_t v = 0; v < layer.n_variants; ++v) {
        bool found = false;
        for (uint32_t i = 0; i < layer.n_tolerances; ++i)
            found |= layer.tolerances[i].arithmetic == layer.variants[v].arithmetic;
        if (!found) return std::string("variant '") + layer.variants[v].name + "' has no tolerance for its arithmetic";
    }
    return "";
}

std::string too_small(const char *what, size_t least, size_t found) {
    if (found >= least) return "";
    return std::string("the size of ") + what + ": expected at least the " + std::to_string(least) +
           " bytes of ABI version 1.0, found " + std::to_string(found);
}

std::string expected_found(const char *what, uint64_t expected, uint64_t found) {
    std::ostringstream out;
    out << what << ": expected " << expected << ", found " << found;
    return out.str();
}

} // namespace

std::string fault_of_prefix(const lamina_prefix &prefix) {
    if (prefix.magic != LAMINA_MAGIC) return expected_found("magic number", LAMINA_MAGIC, prefix.magic);
    if (prefix.abi_major != LAMINA_ABI_MAJOR)
        return expected_found("ABI major version", LAMINA_ABI_MAJOR, prefix.abi_major);
    if (prefix.sanitizer != LAMINA_SANITIZER)
        return expected_found("sanitizer (build plugin and host alike)", LAMINA_SANITIZER, prefix.sanitizer);
    if (prefix.kind != LAMINA_LAYER && prefix.kind != LAMINA_EXECUTOR)
        return "unknown kind " + std::to_string(prefix.kind) + ": expected a layer (1) or an executor (2)";
    return too_small("the descriptor", prefix.kind == LAMINA_LAYER ? layer_1_0 : executor_1_0, prefix.struct_size);
}

std::string fault_of_sizes(const lamina_layer &layer) {
    for (const std::string &fault :
         {too_small("a parameter", param_1_0, layer.param_size), too_small("a port", port_1_0, layer.port_size),
          too_small("a variant", variant_1_0, layer.variant_size),
          too_small("a tolerance", tolerance_1_0, layer.tolerance_size)})
        if (!fault.empty()) return fault;
    for (const auto &[list, n, name] : std::initializer_list<std::tuple<const void *, uint32_t, const char *>>{
             {layer.params, layer.n_params, "parameters"},
             {layer.inputs, layer.n_inputs, "inputs"},
             {layer.weights, layer.n_weights, "weights"},
             {layer.outputs, layer.n_outputs, "outputs"},
             {layer.states, layer.n_states, "states"},
             {layer.variants, layer.n_variants, "variants"},
             {layer.tolerances, layer.n_tolerances, "tolerances"}})
        if (n != 0 && list == nullptr) return std::string("a null list of ") + name;
    return "";
}

std::string fault_of_sizes(const lamina_executor &executor) {
    if (executor.n_kernels != 0 && executor.kernels == nullptr) return "a null list of kernels";
    return too_small("a CPU kernel", cpu_kernel_1_0, executor.kernel_size);
}

std::string fault_of(const lamina_layer &layer) {
    if (!is_identifier(layer.id)) return "the layer's id is not a lower_case name";
    if (layer.version == nullptr || layer.summary == nullptr || layer.source == nullptr)
        return "version, summary or source is null";
    if (layer.n_outputs == 0) return "a layer has at least one output";
    if (layer.n_cases == 0 || layer.cases == nullptr) return "no conformance cases: nothing could prove its kernels";
    if (layer.plan == nullptr) return "no plan";
    if (layer.reference == nullptr && layer.fuses == nullptr) return "no reference";
    if (layer.reference != nullptr && layer.fuses != nullptr)
        return "a reference, although it is a fusion: the references of the layers that it fuses are its own";
    for (const std::string &fault :
         {fault_of_params(layer), fault_of_ports(layer.inputs, layer.n_inputs, "input", true),
          fault_of_ports(layer.weights, layer.n_weights, "weight", true),
          fault_of_ports(layer.outputs, layer.n_outputs, "output", false, optional_inputs(layer)),
          fault_of_ports(layer.states, layer.n_states, "state", false, optional_inputs(layer)), fault_of_kernels(layer),
          fault_of_tolerances(layer)})
        if (!fault.empty()) return fault;
    for (const auto &fault_of_more : {fault_of_capacities, fault_of_choices, fault_of_work}) // need sound ports
        if (const std::string fault = fault_of_more(layer); !fault.empty()) return fault;
    return "";
}

std::string fault_of(const lamina_executor &executor) {
    if (!is_identifier(executor.id)) return "the executor's id is not a lower_case name";
    for (uint32_t i = 0; i < executor.n_kernels; ++i)
        if (blank(executor.kernels[i].layer) || blank(executor.kernels[i].signature) ||
            executor.kernels[i].run == nullptr)
            return "CPU kernel " + std::to_string(i) + " names no layer or no signature, or has no function";
    return "";
}

} // namespace lamina::abi
