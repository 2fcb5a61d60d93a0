#include "architectures/mixture.hpp"

#include "architectures/made_modules.hpp"
#include "architectures/weight_parts.hpp"

namespace lamina::architectures {
namespace {

// With decoder_sparse_step 2, every second layer has experts; those in mlp_only_layers have none.
std::vector<bool> layers_with_experts(const Config &config) {
    std::vector<bool> out(static_cast<size_t>(config.layers("num_hidden_layers")), true);
    if (!config.reads("decoder_sparse_step")) return out;
    const auto step = static_cast<size_t>(config.positive("decoder_sparse_step"));
    for (size_t i = 0; i < out.size(); ++i) out[i] = (i + 1) % step == 0;
    if (const auto plain = config.find("mlp_only_layers"))
        for (const JsonView item : plain->items())
            if (const int64_t layer =
                    item.integer(INT32_MIN, INT32_MAX); // transformers ignores those that are not there
                layer >= 0 && layer < static_cast<int64_t>(out.size()))
                out[static_cast<size_t>(layer)] = false;
    return out;
}

Json choice_of(const Draft &draft, const MixtureKind &kind) {
    const bool given = draft.config.reads("norm_topk_prob") && !draft.gguf;
    const bool normalized = given ? draft.config.flag("norm_topk_prob") : kind.normalized;
    return normalized ? Json() : Json{{"normalize", false}};
}

} // namespace

Mixture::Mixture(Draft &draft, const MixtureKind &kind)
    : Mixture(draft, kind, choice_of(draft, kind), layers_with_experts(draft.config)) {}

Mixture::Mixture(Draft &draft, const MixtureKind &kind, Json choice, std::vector<bool> is_in)
    : draft_(&draft), kind_(&kind), experts_(draft.config.positive(kind.experts)),
      chosen_(draft.config.positive(kind.chosen)), hidden_(draft.config.positive(kind.hidden)),
      activation_(kind.activation == nullptr ? "silu" : draft.config.activation(kind.activation)),
      choice_(std::move(choice)), is_in_(std::move(is_in)) {
    if (chosen_ > experts_)
        draft.config.fail(kind.chosen, "expected at most the " + std::to_string(experts_) + " experts");
}

bool Mixture::require_stack(GraphWriter &graph, const std::string &name, const Shape &shape) const {
    const auto &entries = draft_->weights.entries();
    const auto found = entries.find(name);
    const bool turned = kind_->turned && found != entries.end() && found->second.type.shape != shape;
    graph.require(name, turned ? Shape{shape[0], shape[2], shape[1]} : shape);
    return turned;
}

void Mixture::split_stack(GraphWriter &graph, const std::string &experts, const std::string &inputs,
                          int64_t width) const {
    const std::string up = experts + ".up_proj.weight", gate = experts + ".gate_proj.weight";
    const bool turned = require_stack(graph, inputs, {experts_, 2 * hidden_, width});
    const model::Weight &all = draft_->weights.at(inputs);
    draft_->unused.insert(inputs);
    if (turned) {
        draft_->weights.add(gate, transposed_part(all, 0, 2));
        draft_->weights.add(up, transposed_part(all, 1, 2));
        return;
    }
    std::vector<model::Weight> gates, ups;
    for (int64_t e = 0; e < experts_; ++e) {
        const model::Weight both = all.entry(e);
        gates.push_back(both.rows(0, hidden_)), ups.push_back(both.rows(hidden_, 2 * hidden_));
    }
    draft_->weights.add(gate, model::Weight::stacked(gates));
    draft_->weights.add(up, model::Weight::stacked(ups));
}

void Mixture::stack_experts(const std::string &module, GraphWriter &graph, int64_t width) const {
    const std::string experts = module + ".experts", up = experts + ".up_proj.weight",
                      gate = experts + ".gate_proj.weight", down = experts + ".down_proj.weight";
    const auto part_of = [&](const char *name) { return name == nullptr ? std::string() : module + "." + name; };
    const std::string inputs = part_of(kind_->inputs), outputs = part_of(kind_->outputs);
    const auto &entries = draft_->weights.entries();
    if (kind_->inputs != nullptr && (!kind_->or_single || entries.contains(inputs) || entries.contains(outputs))) {
        split_stack(graph, experts, inputs, width);
        const bool turned = require_stack(graph, outputs, {experts_, width, hidden_});
        const model::Weight &second = draft_->weights.at(outputs);
        draft_->weights.add(down, turned ? transposed_stack(second, 0, 1) : second);
        draft_->unused.insert(outputs);
        return;
    }
    const auto stack_one = [&](const std::string &name, const char *part, const Shape &shape) {
        std::vector<std::string> tensors;
        for (int64_t e = 0; e < experts_; ++e) {
            tensors.push_back(experts + "." + std::to_string(e) + "." + part + ".weight");
            graph.require(tensors.back(), shape); // before there are as many as config.json says
        }
        stack(*draft_, graph, name, tensors, shape);
    };
    stack_one(up, kind_->up, {hidden_, width});
    stack_one(gate, kind_->gate, {hidden_, width});
    stack_one(down, kind_->down, {width, hidden_});
}

// An expert that every token takes, and its share: the sigmoid of a product.
GraphWriter::Tensor Mixture::shared(const std::string &module, GraphWriter &graph, const GraphWriter::Tensor &x,
                                    const GraphWriter::Tensor &residual) const {
    const std::string name = module + ".shared_expert";
    const int64_t width = graph.channels(x), hidden = draft_->config.positive("shared_expert_intermediate_size");
    for (const char *part : {".up_proj.weight", ".gate_proj.weight", ".down_proj.weight"}) {
        const bool down = std::string_view(part).starts_with(".down");
        stack(*draft_, graph, module + ".shared_experts" + part, {name + part},
              {down ? width : hidden, down ? hidden : width});
    }
    return graph.mixture(module, module + ".shared_experts", x,
                         {.experts = 1,
                          .chosen = 1,
                          .hidden = hidden,
                          .activation = activation_,
                          .router = "shared_expert_gate",
                          .choice = {{"scoring", "sigmoid"}, {"normalize", false}},
                          .residual = residual});
}

GraphWriter::Tensor Mixture::operator()(const std::string &layer, GraphWriter &graph, const GraphWriter::Tensor &x,
                                        const GraphWriter::Tensor &residual, const GraphWriter::Tensor &scored) const {
    const std::string module = layer + kind_->block;
    // GGUF files may have gate and up together, too.
    const std::string both = module + ".experts.gate_up_proj.weight";
    if (!draft_->gguf)
        stack_experts(module, graph, graph.channels(x));
    else if (draft_->weights.entries().contains(both))
        split_stack(graph, module + ".experts", both, graph.channels(x));
    // Tensors of the router are weights of the layer that chooses.
    const auto of_choice = [&](const char *tensor, const char *port) -> std::string {
        if (tensor == nullptr) return "";
        const std::string stored = module + "." + tensor, name = module + ".experts.router." + port;
        graph.require(stored, {experts_});
        draft_->weights.add(name, draft_->weights.at(stored));
        draft_->unused.insert(stored);
        return name;
    };
    const std::string bias = of_choice(draft_->gguf ? kind_->bias_in_gguf : kind_->bias, "bias");
    (void)of_choice(kind_->factors, "factors"); // which the layer finds by its name
    const GraphWriter::Tensor out = graph.mixture(module, module + ".experts", x,
                                                  {.experts = experts_,
                                                   .chosen = chosen_,
                                                   .hidden = hidden_,
                                                   .activation = activation_,
                                                   .router = kind_->router,
                                                   .router_bias = bias,
                                                   .choice = choice_,
                                                   .scored = scored,
                                                   .residual = residual});
    return kind_->shared ? shared(module, graph, x, out) : out;
}

} // namespace lamina::architectures
