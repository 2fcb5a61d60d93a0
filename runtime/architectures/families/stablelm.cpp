// StableLM (Bellagente et al., arXiv:2402.17834), Phi-1 to Phi-2 (Li et al., arXiv:2309.05463) and StarCoder 2 (Lozhkov
// et al., arXiv:2402.19173): rotary positions as in Llama, norms as in GPT-2.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Kind {
    const char *eps, *out, *final_norm; // a key of config.json, and modules
    const char *up, *down, *gate;       // modules; gate: "" for none
    double turned;                      // of a head's channels, unless config.json says; 0: all
    bool biased_head = false;           // for words
};

struct Biases {
    bool heads, out, hidden;
};

void build(Draft &draft, const Kind &kind, const Biases &biased, bool parallel) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size");
    const int64_t heads = config.positive("num_attention_heads"),
                  kv_heads = config.integer("num_key_value_heads", heads);
    if (width % heads != 0)
        config.fail("num_attention_heads", "expected a divisor of hidden_size, " + std::to_string(width));
    const int64_t head_dim = width / heads;
    if (draft.gguf) config.expect("head_dim", static_cast<double>(head_dim));
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const std::string activation = config.activation("hidden_act");
    const double eps = config.real(kind.eps);
    const int64_t window = config.reads("sliding_window") ? common_window(config) : 0;

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, head_dim, {.part = kind.turned}),
                                   false);
    Tensor x = graph.embedding("model.embed_tokens", decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        const Tensor tokens = graph.layer_norm(layer + ".input_layernorm", x, {.eps = eps});
        x = decoder.self_attention(layer + ".self_attn", tokens,
                                   {.heads = {heads, kv_heads, head_dim},
                                    .biased = biased.heads,
                                    .out_biased = biased.out,
                                    .out = kind.out,
                                    .rotary = &rotary_layer,
                                    .window = window,
                                    .residual = x});
        x = graph.feed_forward(
            layer + ".mlp", parallel ? tokens : graph.layer_norm(layer + ".post_attention_layernorm", x, {.eps = eps}),
            {.hidden = hidden,
             .activation = activation,
             .up = kind.up,
             .down = kind.down,
             .gate = kind.gate,
             .residual = x,
             .biased = biased.hidden});
    }
    decoder.add_outputs(graph.layer_norm(kind.final_norm, x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = "model.embed_tokens.weight", .biased = kind.biased_head});
}

constexpr Kind stablelm_kind{"layer_norm_eps", "o_proj", "model.norm", "up_proj", "down_proj", "gate_proj", 0.25};
constexpr Kind phi_kind{"layer_norm_eps", "dense", "model.final_layernorm", "fc1", "fc2", "", 0.5, true};
constexpr Kind starcoder_kind{"norm_epsilon", "o_proj", "model.norm", "c_fc", "c_proj", "", 0};

void build_stablelm(Draft &draft) {
    build(draft, stablelm_kind, {draft.config.flag("use_qkv_bias"), false, false},
          draft.config.flag("use_parallel_residual"));
}
void build_phi(Draft &draft) { build(draft, phi_kind, {true, true, true}, true); }
void build_starcoder(Draft &draft) {
    const bool biased = draft.config.flag("use_bias");
    build(draft, starcoder_kind, {biased, biased, biased}, false);
}

constexpr std::array<TensorName, 4> phi_tensors{{
    {"output_norm", "model.final_layernorm"},
    {"blk.{i}.attn_output", "model.layers.{i}.self_attn.dense"},
    {"blk.{i}.ffn_up", "model.layers.{i}.mlp.fc1"},
    {"blk.{i}.ffn_down", "model.layers.{i}.mlp.fc2"},
}};
constexpr std::array<TensorName, 2> starcoder_tensors{{
    {"blk.{i}.ffn_up", "model.layers.{i}.mlp.c_fc"},
    {"blk.{i}.ffn_down", "model.layers.{i}.mlp.c_proj"},
}};
constexpr std::array<SettingName, 1> stablelm_settings{{{"use_parallel_residual", "use_parallel_residual"}}};
constexpr std::array<SettingName, 1> starcoder_settings{{{"attention.layer_norm_epsilon", "norm_epsilon"}}};
constexpr std::array<TensorFlag, 1> head_biases{{{"use_qkv_bias", "blk.0.attn_q.bias"}}};
constexpr std::array<TensorFlag, 1> all_biases{{{"use_bias", "blk.0.attn_q.bias"}}};

} // namespace

namespace families {

std::span<const Architecture> stablelm() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"phi", build_phi, {"phi2", phi_tensors}, "model"},
        {"stablelm", build_stablelm, {"stablelm", {}, stablelm_settings, head_biases}, "model"},
        {"starcoder2", build_starcoder, {"starcoder2", starcoder_tensors, starcoder_settings, all_biases}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
