// GPT-2 (Radford et al.: Language Models are Unsupervised Multitask Learners, 2019).
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "transformer";

// GPT-2's files store matrices transposed, one column per output, and the three projections of attention side by side.
class Transposed {
  public:
    Transposed(Draft &draft, GraphWriter &graph, const std::string &prefix)
        : draft_(draft), graph_(graph), prefix_(prefix) {}

    // Makes part `part` of `parts` of the columns of the module, a matrix of this shape, the weights of the linear
    // layer `name`.
    std::string operator()(const std::string &module, const Shape &shape, const std::string &name, int64_t part = 0,
                           int64_t parts = 1) {
        const std::string weight = prefix_ + module + ".weight", bias = prefix_ + module + ".bias";
        graph_.require(weight, draft_.gguf ? Shape{shape[1], shape[0]} : shape); // transposed already
        graph_.require(bias, {shape[1]});
        const model::Weight &stored = draft_.weights.at(weight);
        draft_.weights.add(name + ".weight",
                           draft_.gguf ? part_of(stored, part, parts) : transposed_columns(stored, part, parts));
        draft_.weights.add(name + ".bias", part_of(draft_.weights.at(bias), part, parts));
        draft_.unused.insert(weight), draft_.unused.insert(bias);
        return name;
    }

  private:
    Draft &draft_;
    GraphWriter &graph_;
    std::string prefix_;
};

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t width = config.positive("n_embd"), layers = config.layers("n_layer");
    const int64_t heads = config.positive("n_head"), positions = config.positive("n_positions");
    if (width % heads != 0) config.fail("n_head", "expected a divisor of n_embd, " + std::to_string(width));
    const double eps = config.real("layer_norm_epsilon");
    const std::string activation = config.activation("activation_function");
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.integer("n_inner", 4 * width);
    const bool scaled = config.flag("scale_attn_weights");
    const bool by_layer = config.flag("scale_attn_by_inverse_layer_idx");

    const std::string prefix = std::string(base) + ".";
    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    Transposed transposed(draft, graph, prefix);
    const Tensor &ids = decoder.ids(), &position = decoder.position();
    Tensor x = graph.embedding(prefix + "wte", ids, {.rows = vocabulary, .channels = width});
    x = graph.learned_positions(prefix + "wpe", x, position, positions);
    for (int64_t i = 0; i < layers; ++i) {
        const std::string block = "h." + std::to_string(i), layer = prefix + block;
        const Tensor tokens = graph.layer_norm(layer + ".ln_1", x, {.eps = eps});
        const auto part = [&](const char *name, int64_t which) {
            return graph.linear(
                transposed(block + ".attn.c_attn", {width, 3 * width}, layer + ".attn." + name, which, 3), tokens, {});
        };
        const Tensor q = part("query", 0), k = part("key", 1), v = part("value", 2);
        const double scale = (scaled ? 1 / std::sqrt(static_cast<double>(width / heads)) : 1) /
                             (by_layer ? static_cast<double>(i + 1) : 1);
        const Tensor attended = graph.attention(layer + ".attn.heads", q, k, v,
                                                {.heads = heads,
                                                 .kv_heads = heads,
                                                 .causal = true,
                                                 .scale = scale,
                                                 .position = position,
                                                 .key_lengths = decoder.lengths()});
        x = graph.linear(transposed(block + ".attn.c_proj", {width, width}, layer + ".attn.out"), attended,
                         {.residual = x});
        (void)transposed(block + ".mlp.c_fc", {width, hidden}, layer + ".mlp.up");
        (void)transposed(block + ".mlp.c_proj", {hidden, width}, layer + ".mlp.down");
        x = graph.feed_forward(layer + ".mlp", graph.layer_norm(layer + ".ln_2", x, {.eps = eps}),
                               {.hidden = hidden, .activation = activation, .up = "up", .down = "down", .residual = x});
        for (const char *mask : {".attn.bias", ".attn.masked_bias"}) draft.unused.insert(layer + mask);
    }
    x = graph.layer_norm(prefix + "ln_f", x, {.eps = eps});
    decoder.add_outputs(x, {.vocabulary = vocabulary, .table = prefix + "wte.weight", .tokens = "classifier"});
}

constexpr std::array<TensorName, 9> tensors{{
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"blk.{i}.attn_norm", "transformer.h.{i}.ln_1"},
    {"blk.{i}.attn_qkv", "transformer.h.{i}.attn.c_attn"},
    {"blk.{i}.attn_output", "transformer.h.{i}.attn.c_proj"},
    {"blk.{i}.ffn_norm", "transformer.h.{i}.ln_2"},
    {"blk.{i}.ffn_up", "transformer.h.{i}.mlp.c_fc"},
    {"blk.{i}.ffn_down", "transformer.h.{i}.mlp.c_proj"},
}};
constexpr std::array<SettingName, 2> settings{{
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"feed_forward_length", "n_inner"},
}};

} // namespace

namespace families {

std::span<const Architecture> gpt2() {
    static constexpr std::array<Architecture, 1> kinds{{{.model_type = "gpt2",
                                                         .build = build,
                                                         .gguf = {"gpt2", tensors, settings},
                                                         .base = base,
                                                         .transposed = true}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
