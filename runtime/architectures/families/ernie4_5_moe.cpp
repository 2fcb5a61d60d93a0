// ERNIE 4.5 with experts (Baidu: ERNIE 4.5 Technical Report, 2025): a decoder like Llama, whose rotary pairs are
// neighbours. Some of its layers have experts, chosen by a softmax and a bias, beside some for every token.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/mixture.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr MixtureKind unbiased_kind{.experts = "moe_num_experts", .chosen = "moe_k"};
constexpr MixtureKind biased_kind = [] {
    MixtureKind out = unbiased_kind;
    out.bias = out.bias_in_gguf = "choice_bias";
    return out;
}();

// Which layers have experts: every `interval`-th from `first` to `last`.
std::vector<bool> layers_with_experts(const Draft &draft, int64_t layers) {
    const Config &config = draft.config;
    const char *const start = "moe_layer_start_index", *const end = "moe_layer_end_index",
                      *const step = "moe_layer_interval";
    if (draft.gguf && !config.has(step)) config.fail(step, "is missing");
    const int64_t first = draft.gguf && !config.has(start) ? 0 : config.integer(start),
                  interval = config.positive(step);
    int64_t last = layers - 1;
    if (const auto given = config.find(end); given && !draft.gguf) {
        constexpr int64_t last_layer = -1;
        if (const int64_t number = given->integer(INT32_MIN, INT32_MAX); number != last_layer) last = number;
    } else if (!draft.gguf) {
        config.fail(end, "expected a number, found null");
    }
    std::vector<bool> out(static_cast<size_t>(layers), false);
    for (int64_t i = 0; i < layers; ++i)
        out[static_cast<size_t>(i)] = i >= first && i <= last && (i + 1) % interval == 0;
    return out;
}

// Channels of the experts for every token together; 0: there are none.
int64_t shared_channels(const Draft &draft) {
    const Config &config = draft.config;
    if (draft.gguf) {
        config.ignore({"moe_num_shared_experts"}); // llama.cpp takes the channels instead
        return config.integer("shared_channels", 0);
    }
    const char *const count = "moe_num_shared_experts";
    const int64_t experts = config.integer(count);
    if (experts <= 0) return 0;
    const int64_t each = config.positive("moe_intermediate_size");
    if (experts > INT32_MAX / each) config.fail(count, "so many are not supported");
    return experts * each;
}

// A folder has the bias of the choice as a matrix of one row.
void add_choice_bias(Draft &draft, GraphWriter &graph, const std::string &mlp, const std::string &stored,
                     int64_t experts) {
    graph.require(stored, {1, experts});
    draft.weights.add(mlp + ".choice_bias", draft.weights.at(stored).shaped({experts}));
    draft.unused.insert(stored);
}

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size"),
                  vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size"),
                  shared = shared_channels(draft), experts = config.positive("moe_num_experts");
    const AttentionHeads heads = AttentionHeads::of(config, width);
    const std::string activation = config.activation("hidden_act");
    const double eps = config.real("rms_norm_eps");
    const bool biased = config.flag("use_bias");
    const std::string of_bias = draft.gguf ? ".exp_probs_b.bias" : ".moe_statics.e_score_correction_bias";
    const bool chosen_by_bias = !draft.gguf || std::ranges::any_of(draft.weights.entries(), [&](const auto &entry) {
        return entry.first.ends_with(of_bias);
    });
    for (const auto &[name, weight] : draft.weights.entries()) // of layers that predict tokens ahead
        if (name.starts_with("model.mtp_")) draft.unused.insert(name);

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, heads.dim), true);
    const auto normed = [&](const std::string &module, const Tensor &x) {
        return graph.rms_norm(module, x, {.eps = eps});
    };
    const Mixture mixture(draft, chosen_by_bias ? biased_kind : unbiased_kind, Json(),
                          layers_with_experts(draft, layers));
    const auto fed = [&](const std::string &module, const Tensor &x, int64_t channels, const Tensor &residual) {
        return graph.feed_forward(module, x,
                                  {.hidden = channels,
                                   .activation = activation,
                                   .gate = "gate_proj",
                                   .residual = residual,
                                   .biased = biased});
    };
    const std::string table = "model.embed_tokens";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), mlp = layer + ".mlp";
        x = decoder.self_attention(
            layer + ".self_attn", normed(layer + ".input_layernorm", x),
            {.heads = heads, .biased = biased, .out_biased = biased, .rotary = &rotary_layer, .residual = x});
        const Tensor tokens = normed(layer + ".post_attention_layernorm", x);
        if (!mixture.is_in(i)) {
            x = fed(mlp, tokens, hidden, x);
            continue;
        }
        if (chosen_by_bias) add_choice_bias(draft, graph, mlp, mlp + of_bias, experts);
        x = mixture(layer, graph, tokens, x);
        if (shared != 0) x = fed(mlp + ".shared_experts", tokens, shared, x);
    }
    decoder.add_outputs(normed("model.norm", x),
                        {.vocabulary = vocabulary, .table = table + ".weight", .biased = biased});
}

constexpr std::array<TensorName, 4> tensors{{
    {"blk.{i}.exp_probs_b", "model.layers.{i}.mlp.exp_probs_b"},
    {"blk.{i}.ffn_gate_shexp", "model.layers.{i}.mlp.shared_experts.gate_proj"},
    {"blk.{i}.ffn_up_shexp", "model.layers.{i}.mlp.shared_experts.up_proj"},
    {"blk.{i}.ffn_down_shexp", "model.layers.{i}.mlp.shared_experts.down_proj"},
}};
constexpr std::array<SettingName, 7> settings{{
    {"expert_count", "moe_num_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_count", "moe_num_shared_experts"},
    {"expert_shared_feed_forward_length", "shared_channels"},
    {"expert_used_count", "moe_k"},
    {"interleave_moe_layer_step", "moe_layer_interval"},
    {"leading_dense_block_count", "moe_layer_start_index"},
}};

} // namespace

namespace families {

std::span<const Architecture> ernie4_5_moe() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"ernie4_5_moe", build, {"ernie4_5-moe", tensors, settings}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
