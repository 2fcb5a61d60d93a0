#include "abi/contract.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace lamina::abi {
namespace {

// Copies the fields of a plugin's struct that both sides know, and sets the rest to zero.
template <class T> T known_part(const void *foreign, size_t foreign_size) {
    T own{};
    std::memcpy(&own, foreign, std::min(sizeof own, foreign_size));
    return own;
}

// The same for a list. A summary may be null; nothing that reads it here has to know that.
template <class T> std::vector<T> known_parts(const T *foreign, uint32_t n, uint32_t foreign_size) {
    std::vector<T> own;
    const auto *at = reinterpret_cast<const std::byte *>(foreign);
    for (uint32_t i = 0; i < n; ++i, at += foreign_size) own.push_back(known_part<T>(at, foreign_size));
    if constexpr (requires { T::summary; })
        for (T &each : own)
            if (each.summary == nullptr) each.summary = "";
    return own;
}

// Removes dtypes that this host does not know, because a later version may have more.
std::vector<lamina_port> known_ports(const lamina_port *foreign, uint32_t n, uint32_t foreign_size) {
    std::vector<lamina_port> own = known_parts(foreign, n, foreign_size);
    for (lamina_port &port : own) port.dtypes &= plugin::weight_dtypes | LAMINA_I32;
    return own;
}

struct LayerCopy {
    std::vector<lamina_param> params;
    std::vector<lamina_port> inputs, weights, outputs, states;
    std::vector<lamina_variant> variants;
    std::vector<lamina_tolerance> tolerances;
    lamina_layer layer{};
};

struct ExecutorCopy {
    std::vector<lamina_cpu_kernel> kernels;
    lamina_executor executor{};
};

// "x: sequence B T C, lengths?: i32 B"
std::string text_of(const lamina_port *ports, uint32_t n) {
    std::string out;
    for (const lamina_port *p = ports; p != ports + n; ++p) {
        out += std::string(p == ports ? "" : ", ") + p->name;
        if (p->follows != nullptr)
            out += std::string("=") + p->follows;
        else if ((p->flags & LAMINA_OPTIONAL) != 0)
            out += "?";
        out += ":";
        if ((p->flags & LAMINA_SEQUENCE) != 0) out += " sequence";
        if (p->dtypes == LAMINA_I32) out += " i32";
        out += std::string(" ") + p->dims;
    }
    return out;
}

std::string text_of(const lamina_param *params, uint32_t n) {
    std::string out;
    for (const lamina_param *p = params; p != params + n; ++p) {
        out += std::string(p == params ? "" : " ") + p->name;
        if (p->follows != nullptr) out += std::string("=") + p->follows;
        if (p->kind == LAMINA_CHOICE) out += std::string("=") + p->choices;
    }
    return out;
}

} // namespace

std::shared_ptr<const lamina_layer> read_contract(const lamina_layer &foreign) {
    auto copy = std::make_shared<LayerCopy>();
    lamina_layer &l = copy->layer;
    l = known_part<lamina_layer>(&foreign, foreign.prefix.struct_size);
    l.params = (copy->params = known_parts(l.params, l.n_params, l.param_size)).data();
    l.inputs = (copy->inputs = known_ports(l.inputs, l.n_inputs, l.port_size)).data();
    l.weights = (copy->weights = known_ports(l.weights, l.n_weights, l.port_size)).data();
    l.outputs = (copy->outputs = known_ports(l.outputs, l.n_outputs, l.port_size)).data();
    l.states = (copy->states = known_ports(l.states, l.n_states, l.port_size)).data();
    l.variants = (copy->variants = known_parts(l.variants, l.n_variants, l.variant_size)).data();
    l.tolerances = (copy->tolerances = known_parts(l.tolerances, l.n_tolerances, l.tolerance_size)).data();
    l.prefix.struct_size = sizeof l;
    l.param_size = sizeof(lamina_param), l.port_size = sizeof(lamina_port);
    l.variant_size = sizeof(lamina_variant), l.tolerance_size = sizeof(lamina_tolerance);
    return {copy, &copy->layer};
}

std::shared_ptr<const lamina_executor> read_contract(const lamina_executor &foreign) {
    auto copy = std::make_shared<ExecutorCopy>();
    lamina_executor &e = copy->executor;
    e = known_part<lamina_executor>(&foreign, foreign.prefix.struct_size);
    e.kernels = (copy->kernels = known_parts(e.kernels, e.n_kernels, e.kernel_size)).data();
    e.prefix.struct_size = sizeof e;
    e.kernel_size = sizeof(lamina_cpu_kernel);
    return {copy, &copy->executor};
}

std::string signature(const lamina_layer &l) {
    std::string out = text_of(l.params, l.n_params);
    if (l.n_params != 0) out += "; ";
    out += text_of(l.inputs, l.n_inputs);
    if (l.n_weights != 0) out += "; " + text_of(l.weights, l.n_weights);
    out += " -> " + text_of(l.outputs, l.n_outputs);
    if (l.n_states != 0) out += "; " + text_of(l.states, l.n_states);
    return out;
}

} // namespace lamina::abi
