// plugins() of plugins.hpp: copies descriptors into values.
#include <lamina/plugins.hpp>

#include "abi/contract.hpp"
#include "abi/pattern.hpp"
#include "api/access.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace lamina {
namespace {

// Plugins may leave out texts, and fields that were appended after 1.0.
std::string text(const char *given) { return given == nullptr ? "" : given; }

std::vector<std::string> split(std::string_view words, char separator) {
    std::vector<std::string> out;
    while (!words.empty()) {
        const std::string_view word = words.substr(0, words.find(separator));
        out.emplace_back(word);
        words.remove_prefix(std::min(words.size(), word.size() + 1));
    }
    return out;
}

std::vector<DType> dtypes_of(uint32_t bits) {
    std::vector<DType> out;
    for (uint32_t bit = 1; bit != 0 && bit <= bits; bit <<= 1)
        if ((bits & bit) != 0) out.push_back(static_cast<DType>(bit));
    return out;
}

std::vector<std::string> features_of(uint64_t bits) {
    static constexpr std::array<std::pair<uint64_t, const char *>, 8> names{
        {{LAMINA_FEATURE_FLOAT16, "float16"},
         {LAMINA_FEATURE_STORAGE16, "storage16"},
         {LAMINA_FEATURE_SUBGROUP_BASIC, "subgroup_basic"},
         {LAMINA_FEATURE_SUBGROUP_ARITHMETIC, "subgroup_arithmetic"},
         {LAMINA_FEATURE_SUBGROUP_SHUFFLE, "subgroup_shuffle"},
         {LAMINA_FEATURE_SUBGROUP_BALLOT, "subgroup_ballot"},
         {LAMINA_FEATURE_INT64, "int64"},
         {LAMINA_FEATURE_COOPERATIVE_MATRIX, "cooperative_matrix"}}};
    std::vector<std::string> out;
    for (const auto &[bit, name] : names)
        if ((bits & bit) != 0) out.emplace_back(name);
    return out;
}

LayerParam param_of(const lamina_param &p) {
    using Kind = LayerParam::Kind;
    return {.name = p.name,
            .summary = text(p.summary),
            .kind = p.kind == LAMINA_INT    ? Kind::integer
                    : p.kind == LAMINA_REAL ? Kind::real
                    : p.kind == LAMINA_BOOL ? Kind::boolean
                                            : Kind::choice,
            .required = (p.flags & LAMINA_REQUIRED) != 0,
            .default_value = p.dflt,
            .follows = text(p.follows),
            .min = p.min,
            .max = p.max,
            .choices = split(text(p.choices), '|')};
}

std::vector<LayerPort> ports_of(const lamina_port *first, uint32_t n) {
    std::vector<LayerPort> out;
    for (const lamina_port &p : std::span(first, n))
        out.push_back({.name = p.name,
                       .summary = text(p.summary),
                       .dims = p.dims,
                       .values = text(p.values),
                       .follows = text(p.follows),
                       .capacity = text(p.capacity),
                       .dtypes = dtypes_of(p.dtypes),
                       .optional = (p.flags & LAMINA_OPTIONAL) != 0,
                       .sequence = (p.flags & LAMINA_SEQUENCE) != 0,
                       .probabilities = (p.flags & LAMINA_PROBABILITIES) != 0});
    return out;
}

LayerContract contract_of(const abi::Layer &layer, const abi::Executor *executor) {
    const lamina_layer &c = *layer.contract;
    LayerContract out{.id = c.id,
                      .version = c.version,
                      .summary = text(c.summary),
                      .source = text(c.source),
                      .signature = abi::signature(c),
                      .path = layer.path,
                      .params = {},
                      .inputs = ports_of(c.inputs, c.n_inputs),
                      .weights = ports_of(c.weights, c.n_weights),
                      .outputs = ports_of(c.outputs, c.n_outputs),
                      .states = ports_of(c.states, c.n_states),
                      .variants = {},
                      .cpu_variants = {},
                      .tolerances = {},
                      .fuses = {},
                      .work = text(c.work),
                      .kernels = {},
                      .cases = {c.cases, c.cases + c.n_cases}};
    if (layer.pattern != nullptr) out.fuses = abi::types_of_members(*layer.pattern);
    for (const lamina_param &p : std::span(c.params, c.n_params)) out.params.push_back(param_of(p));
    for (const lamina_variant &v : std::span(c.variants, c.n_variants))
        out.variants.push_back({v.name, text(v.summary), features_of(v.needs), static_cast<DType>(v.arithmetic)});
    if (executor != nullptr)
        for (const abi::CpuVariant &v : executor->variants(c))
            out.cpu_variants.push_back(
                {v.name, text(executor->descriptor->summary), {}, static_cast<DType>(v.arithmetic)});
    for (const lamina_tolerance &t : std::span(c.tolerances, c.n_tolerances))
        out.tolerances.push_back({static_cast<DType>(t.arithmetic), t.rtol, t.atol});
    for (const lamina_kernel &k : std::span(c.kernels, c.n_kernels))
        out.kernels.push_back({k.name, k.words * sizeof(uint32_t)});
    return out;
}

} // namespace

Plugins plugins(const Runtime &runtime) {
    const abi::Registry &registry = *detail::Access::state(runtime)->plugins;
    Plugins out;
    for (const auto &[id, layer] : registry.layers()) out.layers.emplace(id, contract_of(layer, registry.executor()));
    for (const abi::Rejected &each : registry.rejected()) out.rejected.push_back({each.path, each.reason});
    if (const abi::Executor *executor = registry.executor()) {
        const lamina_executor &e = *executor->descriptor;
        out.executor = ExecutorPlugin{e.id, e.version, text(e.summary), executor->path, {}};
        for (const lamina_cpu_kernel &k : std::span(e.kernels, e.n_kernels))
            if (std::vector<std::string> &known = out.executor->kernels;
                std::ranges::find(known, k.layer) == known.end())
                known.emplace_back(k.layer);
    }
    return out;
}

LayerContract layer_contract(const Runtime &runtime, const std::string &id) {
    const abi::Registry &registry = *detail::Access::state(runtime)->plugins;
    return contract_of(registry.layer(id), registry.executor());
}

} // namespace lamina
