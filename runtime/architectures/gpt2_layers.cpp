#include "architectures/gpt2_layers.hpp"

#include "architectures/weight_parts.hpp"

#include <cmath>
#include <utility>

namespace lamina::architectures {

Gpt2Layers::Gpt2Layers(Draft &draft, const Config &config, GraphWriter &graph, std::string prefix)
    : draft_(draft), graph_(graph), prefix_(std::move(prefix)), width_(config.positive("n_embd")),
      heads_(config.positive("n_head")), layers_(config.layers("n_layer")), positions_(config.positive("n_positions")),
      vocabulary_(config.positive("vocab_size")), hidden_(config.integer("n_inner", 4 * width_)),
      eps_(config.real("layer_norm_epsilon")), activation_(config.activation("activation_function")),
      scaled_(config.flag("scale_attn_weights")), scaled_by_layer_(config.flag("scale_attn_by_inverse_layer_idx")) {
    if (width_ % heads_ != 0) config.fail("n_head", "expected a divisor of n_embd, " + std::to_string(width_));
}

// Files store matrices transposed, one column per output, and projections of attention side by side. Makes part `part`
// of `parts` of the columns of the module, a matrix of this shape, the weights of the linear layer `name`.
std::string Gpt2Layers::transposed(GraphWriter &graph, const std::string &module, const Shape &shape,
                                   const std::string &name, int64_t part, int64_t parts) {
    const std::string weight = module + ".weight", bias = module + ".bias";
    graph.require(weight, draft_.gguf ? Shape{shape[1], shape[0]} : shape); // transposed already
    graph.require(bias, {shape[1]});
    const model::Weight &stored = draft_.weights.at(weight);
    draft_.weights.add(name + ".weight",
                       draft_.gguf ? part_of(stored, part, parts) : transposed_columns(stored, part, parts));
    draft_.weights.add(name + ".bias", part_of(draft_.weights.at(bias), part, parts));
    draft_.unused.insert(weight), draft_.unused.insert(bias);
    return name;
}

double Gpt2Layers::scale(int64_t number) const {
    return (scaled_ ? 1 / std::sqrt(static_cast<double>(width_ / heads_)) : 1) /
           (scaled_by_layer_ ? static_cast<double>(number + 1) : 1);
}

Gpt2Layers::Tensor Gpt2Layers::self_attention(int64_t number, const Tensor &x, const Inputs &inputs) {
    const std::string module = layer(number) + ".attn";
    const Tensor tokens = graph_.layer_norm(layer(number) + ".ln_1", x, {.eps = eps_});
    const auto part = [&](const char *name, int64_t which) {
        return graph_.linear(
            transposed(graph_, module + ".c_attn", {width_, 3 * width_}, module + "." + name, which, 3), tokens, {});
    };
    const Tensor q = part("query", 0), k = part("key", 1), v = part("value", 2);
    const Tensor attended = graph_.attention(module + ".heads", q, k, v,
                                             {.heads = heads_,
                                              .kv_heads = heads_,
                                              .causal = true,
                                              .scale = scale(number),
                                              .position = inputs.position,
                                              .key_lengths = inputs.lengths});
    return graph_.linear(transposed(graph_, module + ".c_proj", {width_, width_}, module + ".out"), attended,
                         {.residual = x});
}

Gpt2Layers::Tensor Gpt2Layers::source_attention(int64_t number, const Tensor &x, const Memory &memory) {
    const std::string module = layer(number) + ".crossattention";
    const Tensor tokens = graph_.layer_norm(layer(number) + ".ln_cross_attn", x, {.eps = eps_});
    const Tensor q =
        graph_.linear(transposed(graph_, module + ".q_attn", {width_, width_}, module + ".query"), tokens, {});
    const auto part = [&](const char *name, int64_t which) {
        const Tensor out = memory.graph.linear(
            transposed(memory.graph, module + ".c_attn", {width_, 2 * width_}, module + "." + name, which, 2),
            memory.seen, {});
        return pass_on(memory.graph, graph_, out, "B " + std::to_string(memory.length));
    };
    const Tensor k = part("key", 0), v = part("value", 1);
    const Tensor attended =
        graph_.attention(module + ".heads", q, k, v, {.heads = heads_, .kv_heads = heads_, .scale = scale(number)});
    return graph_.linear(transposed(graph_, module + ".c_proj", {width_, width_}, module + ".out"), attended,
                         {.residual = x});
}

Gpt2Layers::Tensor Gpt2Layers::feed_forward(int64_t number, const Tensor &x) {
    const std::string module = layer(number) + ".mlp";
    (void)transposed(graph_, module + ".c_fc", {width_, hidden_}, module + ".up");
    (void)transposed(graph_, module + ".c_proj", {hidden_, width_}, module + ".down");
    return graph_.feed_forward(
        module, graph_.layer_norm(layer(number) + ".ln_2", x, {.eps = eps_}),
        {.hidden = hidden_, .activation = activation_, .up = "up", .down = "down", .residual = x});
}

Gpt2Layers::Tensor Gpt2Layers::hidden(const Inputs &inputs, const Memory *memory) {
    Tensor x = graph_.embedding(prefix_ + "wte", inputs.ids, {.rows = vocabulary_, .channels = width_});
    x = graph_.learned_positions(prefix_ + "wpe", x, inputs.position, positions_);
    for (int64_t i = 0; i < layers_; ++i) {
        x = self_attention(i, x, inputs);
        if (memory != nullptr) x = source_attention(i, x, *memory);
        x = feed_forward(i, x);
        for (const char *mask :
             {".attn.bias", ".attn.masked_bias", ".crossattention.bias", ".crossattention.masked_bias"})
            draft_.unused.insert(layer(i) + mask); // of older files
    }
    return graph_.layer_norm(prefix_ + "ln_f", x, {.eps = eps_});
}

} // namespace lamina::architectures
