#include "plan/graph_sizes.hpp"

#include "abi/contract.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <sstream>

namespace lamina::plan {
namespace {

using Size = size_t; // a place in Sizes
using OpenShape = std::vector<Size>;

struct Contradiction {};

// Sizes that are numbers, or are not known yet; those that turn out to be one are joined.
class Sizes {
  public:
    Size open() {
        joined_.push_back(joined_.size());
        values_.emplace_back();
        return joined_.back();
    }
    Size number(int64_t value) {
        const Size size = open();
        values_[size] = value;
        return size;
    }
    // The size that stands for all that are joined with this one: the oldest.
    [[nodiscard]] Size root(Size size) const {
        while (joined_[size] != size) size = joined_[size];
        return size;
    }
    [[nodiscard]] std::optional<int64_t> value(Size size) const { return values_[root(size)]; }
    void join(Size a, Size b) {
        const auto [first, second] = std::minmax({root(a), root(b)});
        if (first == second) return;
        if (values_[first] && values_[second] && values_[first] != values_[second]) throw Contradiction();
        if (!values_[first]) values_[first] = values_[second];
        joined_[second] = first;
    }

  private:
    std::vector<Size> joined_; // each to an older one, or itself
    std::vector<std::optional<int64_t>> values_;
};

std::vector<std::string> tokens_of(const char *dims) {
    std::istringstream in(dims);
    std::vector<std::string> out;
    for (std::string token; in >> token;) out.push_back(token);
    return out;
}

// A layer's contract, unified with shapes some of whose sizes are open: what abi::LayerCall does with numbers.
class LayerSizes {
  public:
    LayerSizes(Sizes &sizes, const lamina_layer &contract, const std::vector<double> &params)
        : sizes_(sizes), batch_first_(abi::is_batch_first(contract, params)) {
        for (uint32_t i = 0; i < contract.n_params; ++i)
            if (contract.params[i].kind == LAMINA_INT)
                names_[contract.params[i].name] = sizes_.number(static_cast<int64_t>(params[i]));
    }

    void take(const lamina_port &port, const OpenShape &shape) { ports_.emplace_back(&port, batch_major(port, shape)); }

    // Until nothing more is learnt: an expression may wait for a name of another port.
    void solve() {
        for (size_t before = known() + 1; before != known();) {
            before = known();
            for (const auto &[port, shape] : ports_) unify(*port, shape);
        }
    }

    OpenShape give(const lamina_port &port) {
        OpenShape out;
        for (const std::string &token : tokens_of(port.dims)) {
            if (token == "...") {
                if (leading_) out.insert(out.end(), leading_->begin(), leading_->end());
            } else if (const auto name = names_.find(token); name != names_.end()) {
                out.push_back(name->second);
            } else {
                const auto value = abi::evaluate(token, numbers());
                out.push_back(value ? sizes_.number(*value) : sizes_.open());
            }
        }
        return batch_major(port, out);
    }

  private:
    Sizes &sizes_;
    bool batch_first_;
    std::map<std::string, Size, std::less<>> names_;
    std::optional<OpenShape> leading_; // what "..." stands for
    std::vector<std::pair<const lamina_port *, OpenShape>> ports_;

    [[nodiscard]] OpenShape batch_major(const lamina_port &port, OpenShape shape) const {
        if ((port.flags & LAMINA_SEQUENCE) != 0 && !batch_first_ && shape.size() >= 2) std::swap(shape[0], shape[1]);
        return shape;
    }

    [[nodiscard]] abi::Dims numbers() const {
        abi::Dims dims;
        for (const auto &[name, size] : names_)
            if (const auto value = sizes_.value(size)) dims.values[name] = *value;
        return dims;
    }
    [[nodiscard]] size_t known() const { return names_.size() + numbers().values.size(); }

    void unify(const lamina_port &port, const OpenShape &shape) {
        std::vector<std::string> tokens = tokens_of(port.dims);
        size_t leading = 0;
        if (!tokens.empty() && tokens.front() == "...") {
            tokens.erase(tokens.begin());
            if (shape.size() < tokens.size()) throw Contradiction();
            leading = shape.size() - tokens.size();
            const OpenShape found(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(leading));
            if (!leading_) leading_ = found;
            if (leading_->size() != leading) throw Contradiction();
            for (size_t i = 0; i < leading; ++i) sizes_.join((*leading_)[i], found[i]);
        }
        if (shape.size() - leading != tokens.size()) throw Contradiction();
        for (size_t i = 0; i < tokens.size(); ++i) unify(tokens[i], shape[leading + i]);
    }

    void unify(const std::string &token, Size size) {
        const std::vector<std::string> in_token = abi::names_in(token);
        if (in_token.size() == 1 && in_token.front() == token) {
            const auto [name, first] = names_.try_emplace(token, size);
            if (!first) sizes_.join(name->second, size);
            return;
        }
        abi::Dims dims = numbers();
        if (const auto value = sizes_.value(size)) {
            (void)abi::unify(token, {*value}, dims, ""); // throws what is no such number; learns the one open name
            for (const auto &[name, learnt] : dims.values) {
                const auto known = names_.find(name);
                if (known == names_.end())
                    names_[name] = sizes_.number(learnt);
                else if (!sizes_.value(known->second))
                    sizes_.join(known->second, sizes_.number(learnt));
            }
        } else if (const auto said = abi::evaluate(token, dims)) {
            sizes_.join(size, sizes_.number(*said));
        }
    }
};

class Walk {
  public:
    Walk(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins)
        : model_(model), graph_(graph), plugins_(plugins) {}

    GraphSizes run() {
        GraphSizes out;
        for (const model::GraphInput &input : graph_.inputs) take(input);
        for (const model::Node &node : graph_.nodes) {
            try {
                if (!pass(node)) break;
            } catch (const Contradiction &) {
                out.impossible = &node;
                break;
            } catch (const Error &) { // an expression that is no whole number, a parameter out of range
                out.impossible = &node;
                break;
            }
        }
        std::map<Size, std::string> first;
        for (const auto &[name, size] : in_order_) {
            const std::string &standing = first.try_emplace(sizes_.root(size), name).first->second;
            out.stands_for[name] = standing;
            if (const auto value = sizes_.value(size)) out.fixed[standing] = *value;
        }
        return out;
    }

  private:
    const model::Model &model_;
    const model::Graph &graph_;
    const abi::Registry &plugins_;
    Sizes sizes_;
    std::map<std::string, Size, std::less<>> names_; // of the graph's inputs' dims
    std::vector<std::pair<std::string, Size>> in_order_;
    std::map<std::string, OpenShape, std::less<>> tensors_;

    void take(const model::GraphInput &input) {
        OpenShape &shape = tensors_[input.name];
        for (const std::string &token : tokens_of(input.dims.c_str())) {
            if (abi::names_in(token).empty()) {
                shape.push_back(sizes_.number(std::stoll(token)));
                continue;
            }
            const auto known = names_.find(token);
            if (known == names_.end()) in_order_.emplace_back(token, names_[token] = sizes_.open());
            shape.push_back(names_[token]);
        }
    }

    // False where what the layer names is not there: whoever plans it says so.
    bool pass(const model::Node &node) {
        const lamina_layer &contract = *plugins_.layer(node.type).contract;
        LayerSizes layer(sizes_, contract, abi::resolve_params(contract, node.params, ""));
        std::vector<const OpenShape *> inputs;
        for (uint32_t i = 0; i < contract.n_inputs; ++i) {
            auto given = node.inputs.find(contract.inputs[i].name);
            if (given == node.inputs.end() && i == 0) given = node.inputs.find("");
            if (given == node.inputs.end()) {
                inputs.push_back(follow(contract.inputs, i, inputs));
                continue;
            }
            const auto tensor = tensors_.find(given->second);
            if (tensor == tensors_.end()) return false;
            inputs.push_back(&tensor->second);
        }
        std::vector<OpenShape> found(contract.n_weights);
        std::vector<const OpenShape *> weights;
        for (uint32_t i = 0; i < contract.n_weights; ++i) {
            const auto entry = model_.weights.entries().find(weight_name(node, contract.weights[i].name));
            if (entry == model_.weights.entries().end()) {
                weights.push_back(follow(contract.weights, i, weights));
                continue;
            }
            for (const int64_t size : entry->second.type.shape) found[i].push_back(sizes_.number(size));
            weights.push_back(&found[i]);
        }
        for (uint32_t i = 0; i < contract.n_inputs; ++i)
            if (inputs[i] != nullptr) layer.take(contract.inputs[i], *inputs[i]);
        for (uint32_t i = 0; i < contract.n_weights; ++i)
            if (weights[i] != nullptr) layer.take(contract.weights[i], *weights[i]);
        layer.solve();
        for (uint32_t i = 0; i < contract.n_outputs; ++i)
            tensors_[i == 0 ? node.name : node.name + "." + contract.outputs[i].name] = layer.give(contract.outputs[i]);
        return true;
    }

    // What a port that is left out stands for: an earlier one of its list, or nothing.
    static const OpenShape *follow(const lamina_port *ports, uint32_t port,
                                   const std::vector<const OpenShape *> &earlier) {
        if (ports[port].follows == nullptr) return nullptr;
        return earlier[abi::place_of_name(ports, port, ports[port].follows)];
    }
};

} // namespace

GraphSizes graph_sizes(const model::Model &model, const model::Graph &graph, const abi::Registry &plugins) {
    return Walk(model, graph, plugins).run();
}

} // namespace lamina::plan
