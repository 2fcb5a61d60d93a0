#include "plan/graph_check.hpp"

#include "base/random.hpp"
#include "plan/graph_sizes.hpp"

#include <array>
#include <optional>

namespace lamina::plan {
namespace {

constexpr uint64_t attempts = 96;

// Sizes for what the graph leaves open: first small ones, all different; then all the same; then a mixture of small
// ones, powers of two and numbers that much divides, since plugins' checks ask for multiples and for limits.
int64_t open_size(uint64_t attempt, size_t which, Random &random) {
    constexpr std::array<int64_t, 14> mixture{1, 2, 3, 4, 5, 6, 7, 8, 16, 64, 100, 720, 4096, 5040};
    if (attempt == 0) return static_cast<int64_t>(which) + 2;
    if (attempt <= mixture.size()) return mixture[attempt - 1];
    return mixture[random.below(mixture.size())];
}

GraphShapes make_up(const model::Graph &graph, const GraphSizes &sizes, uint64_t attempt, Random &random) {
    abi::Dims dims;
    std::map<std::string, int64_t, std::less<>> chosen = sizes.fixed;
    for (const auto &[name, standing] : sizes.stands_for) {
        if (!chosen.contains(standing)) chosen[standing] = open_size(attempt, chosen.size(), random);
        dims.values[name] = chosen[standing];
    }
    GraphShapes out;
    for (const model::GraphInput &input : graph.inputs)
        out.inputs[input.name] = {input.dtype, abi::instantiate(input.dims, dims, input.name)};
    return out;
}

std::optional<Error> refusal(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins,
                             const GraphShapes &shapes) {
    try {
        (void)plan_graph(model, graph, plugins, shapes);
        return std::nullopt;
    } catch (const Error &e) {
        return e;
    }
}

} // namespace

// Sizes are made up, and what fails is looked at. Where no sizes satisfy a layer's dims, its error is the graph's. Else
// an error is the graph's own only if none will do, and many meet it word for word: others may be too long, say, before
// they come to it.
void check_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins) {
    const GraphSizes sizes = graph_sizes(model, graph, plugins);
    const std::string impossible = sizes.impossible != nullptr ? place_of(model, *sizes.impossible) : "";
    Random random(0);
    std::optional<Error> first;
    uint64_t same = 0;
    for (uint64_t attempt = 0; attempt < attempts; ++attempt) {
        const std::optional<Error> error = refusal(model, graph, plugins, make_up(graph, sizes, attempt, random));
        if (!error) return;
        const std::string found = error->what();
        if (!impossible.empty() && found.starts_with(impossible)) throw *error;
        if (!first) first = error;
        same += found == first->what() ? 1 : 0;
    }
    if (!impossible.empty() || same >= attempts / 4) throw *first;
}

} // namespace lamina::plan
