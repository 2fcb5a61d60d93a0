// LFM2 (Liquid AI, arXiv:2511.23404): most layers are short convolutions between two gates; the others have attention.
// Some models have experts in all but the first layers.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/mixture.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// Which layers have attention.
std::vector<bool> layers_with_attention(const Config &config, int64_t layers) {
    std::vector<bool> out(static_cast<size_t>(layers), true);
    const auto expect_count = [&](const char *key, size_t found) {
        if (found != out.size())
            config.fail(key, "expected " + std::to_string(layers) + " entries, one for each layer, found " +
                                 std::to_string(found));
    };
    if (const auto flags = config.find("attention_layers")) { // of a GGUF file
        expect_count("attention_layers", flags->items().size());
        size_t i = 0;
        for (const JsonView flag : flags->items()) out[i++] = flag.boolean();
    } else if (const std::vector<std::string> types = config.texts("layer_types"); !types.empty()) {
        expect_count("layer_types", types.size());
        for (size_t i = 0; i < out.size(); ++i) {
            if (types[i] != "full_attention" && types[i] != "conv")
                config.fail("layer_types", "expected full_attention or conv, found \"" + types[i] + "\"");
            out[i] = types[i] == "full_attention";
        }
        config.ignore({"full_attn_idxs"});
    } else if (const auto which = config.find("full_attn_idxs")) {
        out.assign(out.size(), false);
        for (const JsonView item : which->items())
            if (const int64_t i = item.integer(INT32_MIN, INT32_MAX); i >= 0 && i < layers)
                out[static_cast<size_t>(i)] = true; // transformers ignores those that are not there
    }
    return out;
}

// The channels of a feed-forward layer, which config.json has before they are adjusted (transformers,
// modeling_lfm2.py).
int64_t hidden_of(const Config &config, bool of_gguf) {
    const char *const older = "block_ff_dim";
    const int64_t given = config.positive(config.has(older) ? older : "intermediate_size");
    config.ignore({older, "intermediate_size"});
    if (of_gguf || !config.flag("block_auto_adjust_ff_dim")) {
        for (const char *key : {"block_ffn_dim_multiplier", "block_multiple_of"}) config.ignore_here(key);
        return given;
    }
    const int64_t multiple = config.positive("block_multiple_of");
    auto out = static_cast<double>(static_cast<int64_t>(2 * static_cast<double>(given) / 3));
    if (config.is_null("block_ffn_dim_multiplier")) return static_cast<int64_t>(out);
    out = config.real("block_ffn_dim_multiplier") * out;
    if (!(out >= 1 && out <= INT32_MAX))
        config.fail("block_ffn_dim_multiplier", "gives no number of channels that is supported");
    return (static_cast<int64_t>(out) + multiple - 1) / multiple * multiple;
}

// out_proj(C * convolution(B * x)), where in_proj gives B, C and x.
Tensor convolution(Draft &draft, const DecoderGraph &decoder, const std::string &module, const Tensor &x,
                   const Tensor &residual) {
    GraphWriter &graph = decoder.graph();
    const Config &config = draft.config;
    const int64_t width = graph.channels(x), kept = config.positive("conv_L_cache");
    const bool biased = config.flag("conv_bias");
    split(draft, graph, module + ".in_proj",
          {.inputs = width,
           .parts = {{module + ".before", width}, {module + ".after", width}, {module + ".values", width}},
           .biased = biased});
    const auto part = [&](const char *name) {
        return graph.linear(module + name, x, {.outputs = width, .biased = biased});
    };
    const auto product = [&](const char *name, const Tensor &gate, const Tensor &of) {
        return graph.layer(module + name, "activation", {{"x", gate}, {"times", of}}, {{"activation", "none"}});
    };
    const std::string stored = module + ".conv", name = module + ".convolution";
    graph.require(stored + ".weight", draft.gguf ? Shape{width, kept} : Shape{width, 1, kept});
    graph.require(stored + ".bias", {width}, biased);
    draft.weights.add(name + ".weight", draft.weights.at(stored + ".weight").shaped({width, kept}));
    draft.unused.insert(stored + ".weight");
    Json weights;
    if (biased) weights["bias"] = stored + ".bias";
    const Tensor convolved = graph.layer(name, "causal_conv1d",
                                         {{"x", product(".gated_values", part(".before"), part(".values"))},
                                          {"position", decoder.position()},
                                          {"lengths", decoder.target_lengths()}},
                                         {}, weights);
    return graph.linear(module + ".out_proj", product(".gated", part(".after"), convolved),
                        {.outputs = width, .residual = residual, .biased = biased});
}

// The tensor that is added to the scores for the choice is not in all models.
constexpr MixtureKind plain_kind{.block = ".feed_forward",
                                 .activation = nullptr,
                                 .up = "w3",
                                 .gate = "w1",
                                 .down = "w2",
                                 .inputs = "experts.gate_up_proj",
                                 .outputs = "experts.down_proj",
                                 .or_single = true};
constexpr MixtureKind biased_kind = [] {
    MixtureKind out = plain_kind;
    out.bias = "expert_bias", out.bias_in_gguf = "exp_probs_b.bias";
    return out;
}();

// GGUF files have the defaults of config.json.
Mixture mixture_of(Draft &draft, int64_t layers) {
    const Config &config = draft.config;
    Json choice{{"scoring", "sigmoid"}, {"scale", config.real("routed_scaling_factor")}};
    if (!config.flag("norm_topk_prob")) choice["normalize"] = false;
    if (draft.gguf) config.expect("scoring_func", 2.0); // a sigmoid: llama.cpp, llama_expert_gating_func_type
    const int64_t dense = config.integer("num_dense_layers");
    std::vector<bool> is_in(static_cast<size_t>(layers));
    for (int64_t i = 0; i < layers; ++i) is_in[static_cast<size_t>(i)] = i >= dense;
    return {draft, config.flag("use_expert_bias") ? biased_kind : plain_kind, std::move(choice), std::move(is_in)};
}

void build(Draft &draft, bool has_experts) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size"),
                  heads = config.positive("num_attention_heads"), kv_heads = config.positive("num_key_value_heads"),
                  head_dim = config.integer("head_dim", width / heads),
                  hidden = has_experts ? config.positive("intermediate_size") : hidden_of(config, draft.gguf),
                  vocabulary = config.positive("vocab_size");
    std::optional<Mixture> mixture;
    if (has_experts) mixture.emplace(mixture_of(draft, layers));
    const std::vector<bool> attends = layers_with_attention(config, layers);
    if (draft.gguf && config.find("sliding_window")) config.fail("sliding_window", "is not supported here");
    const double eps = config.real("norm_eps");
    if (config.has("tie_embedding")) draft.tie_words = config.flag("tie_embedding"); // its older name
    config.ignore({"tie_embedding"});

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, head_dim), false);
    if (std::ranges::find(attends, true) == attends.end()) draft.unused.insert("model.rotary.frequencies");
    const auto norm = [&](const std::string &module, const Tensor &x) {
        return graph.rms_norm(module, x, {.eps = eps});
    };
    const auto head_norm = [&](const std::string &module, const Tensor &x, int64_t count) { // "q_norm" is "q_layernorm"
        return graph.rms_norm(module.substr(0, module.rfind('_')) + "_layernorm", x, {.eps = eps, .groups = count});
    };
    const std::string table = "model.embed_tokens";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        const Tensor normed = norm(layer + ".operator_norm", x);
        x = attends[static_cast<size_t>(i)] ? decoder.self_attention(layer + ".self_attn", normed,
                                                                     {.heads = {heads, kv_heads, head_dim},
                                                                      .out = "out_proj",
                                                                      .norm = head_norm,
                                                                      .rotary = &rotary_layer,
                                                                      .residual = x})
                                            : convolution(draft, decoder, layer + ".conv", normed, x);
        const Tensor fed = norm(layer + ".ffn_norm", x);
        if (mixture && mixture->is_in(i)) {
            x = (*mixture)(layer, graph, fed, x);
            continue;
        }
        x = graph.feed_forward(layer + ".feed_forward", fed,
                               {.hidden = hidden,
                                .activation = "silu",
                                .up = "w3",
                                .down = "w2",
                                .gate = "w1",
                                .residual = x,
                                .biased = false});
    }
    decoder.add_outputs(norm("model.embedding_norm", x), {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 19> tensors{{
    {"token_embd_norm", "model.embedding_norm"},
    {"output_norm", "model.embedding_norm"}, // as other files call it
    {"blk.{i}.attn_norm", "model.layers.{i}.operator_norm"},
    {"blk.{i}.attn_q_norm", "model.layers.{i}.self_attn.q_layernorm"},
    {"blk.{i}.attn_k_norm", "model.layers.{i}.self_attn.k_layernorm"},
    {"blk.{i}.attn_output", "model.layers.{i}.self_attn.out_proj"},
    {"blk.{i}.shortconv.conv", "model.layers.{i}.conv.conv"},
    {"blk.{i}.shortconv.in_proj", "model.layers.{i}.conv.in_proj"},
    {"blk.{i}.shortconv.out_proj", "model.layers.{i}.conv.out_proj"},
    {"blk.{i}.ffn_norm", "model.layers.{i}.ffn_norm"},
    {"blk.{i}.ffn_gate", "model.layers.{i}.feed_forward.w1"},
    {"blk.{i}.ffn_up", "model.layers.{i}.feed_forward.w3"},
    {"blk.{i}.ffn_down", "model.layers.{i}.feed_forward.w2"},
    {"blk.{i}.ffn_gate_inp", "model.layers.{i}.feed_forward.gate"},
    {"blk.{i}.ffn_gate_exps", "model.layers.{i}.feed_forward.experts.gate_proj"},
    {"blk.{i}.ffn_up_exps", "model.layers.{i}.feed_forward.experts.up_proj"},
    {"blk.{i}.ffn_down_exps", "model.layers.{i}.feed_forward.experts.down_proj"},
    {"blk.{i}.ffn_gate_up_exps", "model.layers.{i}.feed_forward.experts.gate_up_proj"},
    {"blk.{i}.exp_probs_b", "model.layers.{i}.feed_forward.exp_probs_b"},
}};
constexpr std::array<SettingName, 2> settings{{
    {"attention.layer_norm_rms_epsilon", "norm_eps"},
    {"shortconv.l_cache", "conv_L_cache"},
}};
constexpr std::array<SettingName, 7> settings_of_experts{{
    {"attention.layer_norm_rms_epsilon", "norm_eps"},
    {"shortconv.l_cache", "conv_L_cache"},
    {"expert_count", "num_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_gating_func", "scoring_func"},
    {"expert_used_count", "num_experts_per_tok"},
    {"leading_dense_block_count", "num_dense_layers"},
}};

} // namespace

namespace families {

std::span<const Architecture> lfm2() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"lfm2", [](Draft &draft) { build(draft, false); }, {"lfm2", tensors, settings}, "model"},
        {"lfm2_moe", [](Draft &draft) { build(draft, true); }, {"lfm2moe", tensors, settings_of_experts}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
