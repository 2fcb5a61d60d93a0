#include "architectures/beside.hpp"

#include "model/low_rank.hpp"

#include <lamina/error.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lamina::architectures {
namespace {

// Writes the graphs of `changed` anew, for the weights of `base` and others.
class Writer {
  public:
    Writer(const model::Model &base, const model::Model &changed, const std::string &prefix)
        : base_(base), changed_(changed), prefix_(prefix), added_(changed.weights.file()) {}

    [[nodiscard]] model::Graph graph(const model::Graph &from) {
        model::Graph out{from.name, from.inputs, {}, {}};
        nodes_ = &out.nodes;
        renamed_.clear();
        for (const model::Node &node : from.nodes) add(node);
        for (const auto &[name, tensor] : from.outputs) out.outputs[name] = now(tensor);
        return out;
    }
    [[nodiscard]] model::Weights weights() { return std::move(added_); }

  private:
    // What a tensor of the graph is called by now.
    [[nodiscard]] std::string now(const std::string &tensor) const {
        const auto found = renamed_.find(tensor);
        return found == renamed_.end() ? tensor : found->second;
    }

    void add(model::Node node) {
        for (auto &[port, tensor] : node.inputs) tensor = now(tensor);
        if (node.type == "linear") return rename(node.name, product(node, "weight", "bias"));
        if (node.type == "feed_forward" && is_sum(node, "up_weight", "gate_weight", "down_weight"))
            return rename(node.name, feed_forward(node));
        add_as_it_is(std::move(node));
    }
    void rename(const std::string &tensor, const std::string &to) {
        if (tensor != to) renamed_[tensor] = to;
    }

    // With a second copy of the weights that were changed.
    void add_as_it_is(model::Node node) {
        const std::string begin = node.name + ".";
        std::set<std::string> mapped;
        for (const auto &[port, name] : node.weights) mapped.insert(name);
        for (const auto &[name, weight] : changed_.weights.entries()) // those that are called NODE.PORT
            if (name.starts_with(begin) && name.find('.', begin.size()) == std::string::npos &&
                !mapped.contains(name) && known(name) != name)
                node.weights.emplace(name.substr(begin.size()), name);
        for (auto &[port, name] : node.weights) name = known(name);
        nodes_->push_back(std::move(node));
    }
    // The name of a weight that is the same as in `changed`.
    std::string known(const std::string &name) {
        const auto found = changed_.weights.entries().find(name), before = base_.weights.entries().find(name);
        if (found == changed_.weights.entries().end()) return name; // there is none
        const bool same = before != base_.weights.entries().end() && found->second.is_same(before->second);
        return same ? name : added(name, found->second);
    }
    std::string added(const std::string &name, const model::Weight &weight) {
        std::string out = prefix_ + name;
        if (!added_.entries().contains(out)) added_.add(out, weight);
        return out;
    }

    [[nodiscard]] static std::string weight_of(const model::Node &node, const std::string &port) {
        const auto found = node.weights.find(port);
        return found == node.weights.end() ? node.name + "." + port : found->second;
    }
    [[nodiscard]] bool has(const model::Node &node, const std::string &port) const {
        return node.weights.contains(port) || changed_.weights.entries().contains(node.name + "." + port);
    }
    // What is added to the matrix of the base; none if it is as before, or not such a sum.
    [[nodiscard]] std::vector<model::Factors> factors_of(const std::string &name) const {
        const auto found = changed_.weights.entries().find(name), before = base_.weights.entries().find(name);
        if (found == changed_.weights.entries().end() || before == base_.weights.entries().end() ||
            before->second.type.shape != found->second.type.shape)
            return {};
        return model::factors_of(found->second);
    }
    template <class... Ports> [[nodiscard]] bool is_sum(const model::Node &node, const Ports &...ports) const {
        return (!factors_of(weight_of(node, ports)).empty() || ...);
    }

    // A product with this weight of the node, and what is added to it. Returns the tensor of the sum.
    std::string product(const model::Node &node, const std::string &weight, const std::string &bias) {
        const std::string name = weight_of(node, weight);
        const std::vector<model::Factors> factors = factors_of(name);
        model::Node whole = node;
        whole.type = "linear";
        whole.weights = {{"weight", factors.empty() ? known(name) : name}};
        if (has(node, bias)) whole.weights["bias"] = known(weight_of(node, bias));
        const std::string x = input_of(whole, "x");
        std::string sum = whole.name;
        nodes_->push_back(whole);
        for (size_t i = 0; i < factors.size(); ++i) {
            const std::string part = whole.name + ".adapter_" + std::to_string(i), of = name + std::to_string(i);
            add_linear(node, part + "_down", {{"x", x}}, added(of + ".down", factors[i].down));
            add_linear(node, part + "_up", {{"x", part + "_down"}, {"residual", sum}},
                       added(of + ".up", factors[i].up));
            sum = part + "_up";
        }
        return sum;
    }
    void add_linear(const model::Node &of, const std::string &name,
                    std::map<std::string, std::string, std::less<>> inputs, const std::string &weight) {
        nodes_->push_back({name, "linear", of.place, {}, std::move(inputs), {{"weight", weight}}});
    }
    // The layer before a node gives its first input.
    [[nodiscard]] static std::string input_of(const model::Node &node, const std::string &first) {
        const auto named = node.inputs.find(first);
        return named != node.inputs.end() ? named->second : node.inputs.at("");
    }

    // The layers that it stands for, each with what is added to it.
    std::string feed_forward(const model::Node &node) {
        const auto one = [&](const std::string &part, std::map<std::string, std::string, std::less<>> inputs) {
            model::Node linear = node;
            linear.name += "." + part;
            linear.params.clear();
            linear.inputs = std::move(inputs);
            for (const std::string port : {"_weight", "_bias"}) // which the name of the node may say
                if (has(node, part + port)) linear.weights[part + port] = weight_of(node, part + port);
            return product(linear, part + "_weight", part + "_bias");
        };
        const std::string x = input_of(node, "x"), up = one("up", {{"x", x}});
        model::Node activated{node.name + ".activated", "activation", node.place, node.params, {{"x", up}}, {}};
        if (has(node, "gate_weight")) activated.inputs = {{"x", one("gate", {{"x", x}})}, {"times", up}};
        nodes_->push_back(activated);
        std::map<std::string, std::string, std::less<>> inputs{{"x", activated.name}};
        if (const auto residual = node.inputs.find("residual"); residual != node.inputs.end()) inputs.insert(*residual);
        return one("down", std::move(inputs));
    }

    const model::Model &base_, &changed_;
    const std::string &prefix_;
    model::Weights added_;
    std::vector<model::Node> *nodes_ = nullptr; // of the graph that is written
    std::map<std::string, std::string> renamed_;
};

} // namespace

Beside beside(const model::Model &base, const model::Model &changed, const std::string &prefix) {
    if (base.adapted)
        throw Error(ErrorCode::input, base.folder.string() +
                                          ": adapters were merged into this model; expected one without, for others "
                                          "to be beside it");
    auto model = std::make_shared<model::Model>(base);
    Writer writer(base, changed, prefix);
    for (const auto &[name, graph] : changed.graphs) model->graphs[name] = writer.graph(graph);
    model->states = prefix;
    model::Weights added = writer.weights();
    model->weights.add(added);
    return {std::move(model), std::move(added)};
}

} // namespace lamina::architectures
