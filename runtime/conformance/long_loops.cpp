#include "conformance/long_loops.hpp"

#include "conformance/case_generator.hpp"
#include "conformance/case_graph.hpp"
#include "interpreter/device.hpp"

#include <algorithm>
#include <optional>

namespace lamina::conformance {
namespace {

constexpr int64_t step = 40;                  // from the size of the small case to twice that
constexpr uint32_t subgroup = 8;              // the shorter subgroups are, the longer are loops of a lane
constexpr int64_t largest = int64_t{1} << 20; // of a dim: models have no larger ones
constexpr double most_work_of_loops = 2e7, most_values_of_loops = 0x1p20; // of a case

// None if the variant does not handle the case, or cannot be interpreted.
interpreter::Rounds rounds_of(const std::shared_ptr<const abi::Registry> &plugins, const abi::Layer &layer,
                              const Case &c, const std::string &variant) {
    interpreter::Rounds rounds;
    try {
        const CaseGraph graph = make_case_graph(layer, c);
        plan::ProgramOptions options;
        options.variants = {variant};
        const auto backend = interpreter::make_device(plugins, subgroup, &rounds)->backend(graph.weights);
        const auto program = backend->compile(graph.plan, options);
        write_values(*program, graph);
        program->run();
    } catch (const Error &) { // whatever is wrong with it, cases of its own will show
        rounds.clear();
    }
    return rounds;
}

// The smallest size from which on there are too many rounds.
struct Limit {
    int64_t size;
    std::string kernel;
};

std::optional<Limit> limit_of(const std::shared_ptr<const abi::Registry> &plugins, const abi::Layer &layer, Case c,
                              const std::string &dim, const std::string &variant) {
    const interpreter::Rounds few = rounds_of(plugins, layer, c, variant);
    c.dims[dim] += step;
    std::optional<Limit> out;
    for (const auto &[kernel, rounds] : rounds_of(plugins, layer, c, variant)) {
        const auto before = few.find(kernel);
        if (before == few.end() || rounds <= before->second) continue;
        const uint64_t growth = rounds - before->second, left = interpreter::most_rounds + 1 - rounds;
        const int64_t size = c.dims[dim] + static_cast<int64_t>((left * step + growth - 1) / growth);
        if (!out || size < out->size) out = {size, kernel};
    }
    return out;
}

// " (with B=1 K=3)": the sizes of the other dims.
std::string others(const Case &c, const std::string &dim) {
    std::string out;
    for (const auto &[name, size] : c.dims)
        if (name != dim) out += (out.empty() ? " (with " : " ") + name + "=" + std::to_string(size);
    return out.empty() ? out : out + ")";
}

// None if the layer refuses the case.
std::optional<abi::LayerCall> accepted(const abi::Layer &layer, const Case &c) {
    try {
        return call_of(layer, c);
    } catch (const Error &) {
        return std::nullopt;
    }
}

} // namespace

LongLoops long_loops(const std::shared_ptr<const abi::Registry> &plugins, const abi::Layer &layer,
                     const std::vector<plan::Variant> &variants, uint64_t seed) {
    LongLoops out;
    for (auto &[dim, c] : small_cases(layer, seed)) {
        std::optional<Limit> least;
        for (const plan::Variant &variant : variants)
            if (const auto limit = limit_of(plugins, layer, c, dim, variant.name))
                if (!least || limit->size < least->size) least = limit;
        if (!least || least->size > largest) continue;
        c.dims[dim] = least->size + least->size / 64; // beyond doubt
        const auto call = accepted(layer, c);
        if (!call) continue; // so is every model of such a size
        if (linear_work_of(*call) <= most_work_of_loops && values_of(*call) <= most_values_of_loops)
            out.cases.push_back(std::move(c));
        else
            out.out_of_reach.push_back("from " + dim + "=" + std::to_string(least->size) + " on" + others(c, dim) +
                                       ", an invocation of kernel '" + least->kernel + "' runs more than " +
                                       std::to_string(interpreter::most_rounds) +
                                       " rounds of loops; no case is so large");
    }
    return out;
}

} // namespace lamina::conformance
