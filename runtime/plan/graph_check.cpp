#include "plan/graph_check.hpp"

#include "base/random.hpp"
#include "plan/graph_sizes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

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

struct MadeUp {
    GraphShapes shapes;
    std::set<std::string> sizes; // as they stand in a message
};

MadeUp make_up(const model::Graph &graph, const GraphSizes &sizes, uint64_t attempt, Random &random) {
    MadeUp out;
    abi::Dims dims;
    std::map<std::string, int64_t, std::less<>> chosen = sizes.fixed;
    for (const auto &[name, standing] : sizes.stands_for) {
        if (!chosen.contains(standing)) {
            chosen[standing] = open_size(attempt, chosen.size(), random);
            out.sizes.insert(std::to_string(chosen[standing]));
        }
        dims.values[name] = chosen[standing];
    }
    for (const model::GraphInput &input : graph.inputs)
        out.shapes.inputs[input.name] = {input.dtype, abi::instantiate(input.dims, dims, input.name)};
    return out;
}

std::set<std::string> numbers_in(const std::string &text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::set<std::string> out;
    for (auto at = text.begin(); at != text.end();) {
        const auto begin = std::find_if(at, text.end(), is_digit);
        at = std::find_if_not(begin, text.end(), is_digit);
        if (begin != at) out.emplace(begin, at);
    }
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

// An error that quotes a size which was made up, and which another error does not quote, is about that size.
bool is_about(const std::set<std::string> &made_up, const std::string &error, const std::string &other) {
    const std::set<std::string> quoted = numbers_in(error), elsewhere = numbers_in(other);
    return std::any_of(made_up.begin(), made_up.end(),
                       [&](const std::string &size) { return quoted.contains(size) && !elsewhere.contains(size); });
}

} // namespace

// Sizes are made up, and what fails is looked at. Where no sizes satisfy a layer's dims, its error is the graph's. Else
// an error is the graph's own only if it comes back word for word under other sizes, and others are about those alone.
void check_graph(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins) {
    const GraphSizes sizes = graph_sizes(model, graph, plugins);
    const std::string impossible = sizes.impossible != nullptr ? place_of(model, *sizes.impossible) : "";
    Random random(0);
    std::optional<Error> first;
    uint64_t same = 0;
    for (uint64_t attempt = 0; attempt < attempts; ++attempt) {
        const MadeUp made_up = make_up(graph, sizes, attempt, random);
        const std::optional<Error> error = refusal(model, graph, plugins, made_up.shapes);
        if (!error) return;
        const std::string found = error->what();
        if (!impossible.empty() && found.starts_with(impossible)) throw *error;
        if (!first) first = error;
        if (found == first->what())
            ++same;
        else if (impossible.empty() && !is_about(made_up.sizes, found, first->what()))
            return;
    }
    if (!impossible.empty() || same >= attempts / 4) throw *first;
}

} // namespace lamina::plan
