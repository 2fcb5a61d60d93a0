#include "split/layers.hpp"

#include "abi/contract.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

namespace lamina::split {
namespace {

constexpr int64_t usual_tokens = 4096; // of a text, for whose caches there is to be room

// "model.layers.3" of "model.layers.3.self_attn.q_proj"; empty if no part of the name is a number.
std::string_view numbered_part(std::string_view name) {
    for (size_t begin = 0; begin <= name.size();) {
        const size_t end = std::min(name.find('.', begin), name.size());
        const std::string_view part = name.substr(begin, end - begin);
        if (!part.empty() && std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c) != 0; }))
            return name.substr(0, end);
        begin = end + 1;
    }
    return {};
}

// The graphs in the order in which a text goes through them.
std::vector<const model::Graph *> graphs_of(const model::Model &model) {
    std::vector<const model::Graph *> out;
    for (const auto &[name, graph] : model.graphs) out.push_back(&graph);
    std::stable_partition(out.begin(), out.end(), [&](const model::Graph *g) {
        return model.generation && g->name == model.generation->encode;
    });
    return out;
}

// Names of layers, and the layer of each node.
class Naming {
  public:
    explicit Naming(bool numbered) : numbered_(numbered) {}

    void add(const model::Graph &graph, Layers &out) {
        std::vector<const std::string *> first; // nodes of the graph before its first layer
        std::optional<size_t> last;
        for (const model::Node &node : graph.nodes) {
            const std::string_view part = numbered_ ? numbered_part(node.name) : std::string_view(node.name);
            if (!part.empty()) {
                const auto [known, fresh] = known_.try_emplace(std::string(part), out.all.size());
                if (fresh) out.all.push_back({std::string(part), {}, 0});
                last = known->second;
                for (const std::string *name : first) out.of_node.emplace(*name, *last);
                first.clear();
            }
            if (last)
                out.of_node.emplace(node.name, *last);
            else
                first.push_back(&node.name);
        }
        // A graph without any layer belongs to the last one there is.
        for (const std::string *name : first) out.of_node.emplace(*name, out.all.empty() ? 0 : out.all.size() - 1);
    }

  private:
    bool numbered_;
    std::map<std::string, size_t, std::less<>> known_;
};

// The smallest sizes of a graph's inputs, with caches of so many tokens.
plan::GraphShapes smallest(const model::Graph &graph, int64_t tokens, DType state_dtype) {
    plan::GraphShapes out;
    out.state_length = tokens;
    out.state_dtype = state_dtype;
    for (const model::GraphInput &input : graph.inputs) {
        Shape shape;
        std::string_view rest = input.dims;
        while (!rest.empty()) {
            const size_t end = std::min(rest.find(' '), rest.size());
            int64_t size = 1;
            (void)std::from_chars(rest.data(), rest.data() + end, size); // a name stays 1
            shape.push_back(size);
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        out.inputs[input.name] = {input.dtype, shape};
    }
    return out;
}

void add_weights(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins, Layers &out) {
    for (const model::Node &node : graph.nodes) {
        const lamina_layer &contract = *plugins.layer(node.type).contract;
        for (uint32_t i = 0; i < contract.n_weights; ++i) {
            const auto found = model.weights.entries().find(plan::weight_name(node, contract.weights[i].name));
            if (found != model.weights.entries().end())
                out.all[out.of_node.at(node.name)].weights[found->first] = found->second.type.bytes();
        }
    }
}

void add_caches(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins, DType state_dtype,
                Layers &out) try {
    const plan::GraphPlan plan = plan::plan_graph(model, graph, plugins, smallest(graph, out.tokens, state_dtype));
    for (const plan::Step &step : plan.steps)
        for (const int32_t t : step.state)
            if (t != plan::none)
                out.all[out.of_node.at(step.name)].caches += plan.tensors[static_cast<size_t>(t)].type.bytes();
} catch (const Error &) { // it takes no input that is so small; its caches are found out when it runs
}

} // namespace

Layers layers_of(const model::Model &model, const abi::Registry &plugins, DType state_dtype) {
    Layers out;
    const std::vector<const model::Graph *> graphs = graphs_of(model);
    const bool numbered = std::ranges::any_of(graphs, [](const model::Graph *graph) {
        return std::ranges::any_of(graph->nodes,
                                   [](const model::Node &node) { return !numbered_part(node.name).empty(); });
    });
    Naming naming(numbered);
    for (const model::Graph *graph : graphs) naming.add(*graph, out);
    for (const model::Graph *graph : graphs) add_weights(model, *graph, plugins, out);
    if (!model.generation) return out;
    out.tokens = std::min({model.generation->context, model.generation->positions, usual_tokens});
    add_caches(model, model.graphs.at(model.generation->decode), plugins, state_dtype, out);
    return out;
}

namespace {

// What layers take together: a weight that several of them use counts once.
struct Taken {
    std::map<std::string, uint64_t> weights;
    uint64_t caches = 0;

    void add(const Layer &layer) {
        weights.insert(layer.weights.begin(), layer.weights.end());
        caches += layer.caches;
    }
    [[nodiscard]] uint64_t of_weights() const {
        return std::accumulate(weights.begin(), weights.end(), uint64_t{0},
                               [](uint64_t sum, const auto &weight) { return sum + weight.second; });
    }
    [[nodiscard]] uint64_t all() const { return of_weights() + caches; }
};

Division with_sizes(const Layers &layers, std::vector<size_t> counts) {
    Division out{std::move(counts), {}, {}, {}};
    out.rooms.resize(out.counts.size());
    size_t next = 0;
    for (const size_t count : out.counts) {
        Taken taken;
        for (size_t i = 0; i < count; ++i) taken.add(layers.all[next++]);
        out.weights.push_back(taken.of_weights());
        out.caches.push_back(taken.caches);
    }
    return out;
}

} // namespace

Division fill(const Layers &layers, std::span<const std::optional<uint64_t>> rooms) {
    std::vector<size_t> counts;
    size_t next = 0;
    for (size_t device = 0; device < rooms.size(); ++device) {
        const bool last = device + 1 == rooms.size();
        const size_t first = next;
        Taken taken;
        for (; next < layers.all.size(); ++next) {
            taken.add(layers.all[next]);
            if (!last && rooms[device] && taken.all() > *rooms[device] - *rooms[device] / 10) break;
        }
        counts.push_back(next - first);
    }
    Division out = with_sizes(layers, std::move(counts));
    out.rooms.assign(rooms.begin(), rooms.end());
    return out;
}

Division divide(const Layers &layers, std::span<const size_t> counts, size_t devices) {
    const size_t sum = std::accumulate(counts.begin(), counts.end(), size_t{0});
    const bool absurd = std::ranges::any_of(counts, [&](size_t n) { return n > layers.all.size(); });
    if (counts.size() != devices || absurd || sum != layers.all.size())
        throw Error(ErrorCode::usage,
                    "the split gives " + std::to_string(counts.size()) + (counts.size() == 1 ? " number" : " numbers") +
                        " of layers" + (absurd ? "" : ", " + std::to_string(sum) + " in all") + "; expected " +
                        std::to_string(devices) + ", one for each device, and " + std::to_string(layers.all.size()) +
                        " in all: the model's layers are " + layers.all.front().name + " to " + layers.all.back().name);
    return with_sizes(layers, {counts.begin(), counts.end()});
}

std::vector<size_t> devices_of(const plan::GraphPlan &plan, const Layers &layers, const Division &division) {
    std::vector<size_t> ends(division.counts.size()); // the first layer behind each device's
    std::partial_sum(division.counts.begin(), division.counts.end(), ends.begin());
    std::vector<size_t> out;
    for (const plan::Step &step : plan.steps) {
        const auto node = layers.of_node.find(step.name);
        if (node == layers.of_node.end()) {
            out.push_back(out.empty() ? 0 : out.back());
            continue;
        }
        const auto device = std::ranges::upper_bound(ends, node->second) - ends.begin();
        out.push_back(std::min(static_cast<size_t>(device), ends.size() - 1));
    }
    return out;
}

} // namespace lamina::split
