// Llama (Touvron et al., arXiv:2302.13971; Grattafiori et al., arXiv:2407.21783) and models that differ from it only in
// a few settings: SmolLM2, Mistral, Qwen2, Qwen3, SmolLM3, ERNIE 4.5, Phi-3 (Abdin et al., arXiv:2404.14219), Granite;
// and their mixtures of experts: Mixtral (Jiang et al., arXiv:2401.04088), Qwen MoE, OLMoE, Granite MoE.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/granite_factors.hpp"
#include "architectures/joined.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/mixture.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace lamina::architectures {
namespace {

// What config.json leaves out because all models of a type share it.
struct Kind {
    bool biased_heads = false;        // queries, keys and values have biases; the output projection has none
    bool normed_heads = false;        // queries and keys are normalized per head
    bool normed_whole = false;        // or all heads of them together
    bool interleaved = false;         // rotary pairs are neighbours
    bool interleaved_in_gguf = false; // GGUF permutes the rows of queries and keys for interleaved rotary pairs
    bool fused = false;               // one matrix for queries, keys and values, and one for gate and up
    bool one_window = false;          // all layers have it, whatever layer_types says
    bool alternating = false;         // of the first max_window_layers every other one has it, beginning with the first
    RotaryKind rotary = {};
    const MixtureKind *mixture = nullptr;
};

// Which layers turn queries and keys by their positions. SmolLM3 leaves out every fourth.
std::vector<bool> rotary_layers(const Config &config, size_t layers) {
    std::vector<bool> out(layers, true);
    if (!config.reads("no_rope_layers")) return out;
    if (const auto turned = config.find("no_rope_layers")) { // 1: positions count
        const auto count = turned->items().size();
        if (count != layers)
            turned->fail("expected " + std::to_string(layers) + " numbers, one for each layer, found " +
                         std::to_string(count));
        size_t i = 0;
        for (const JsonView item : turned->items()) out[i++] = item.integer(0, 1) != 0;
        config.ignore({"no_rope_layer_interval"});
        return out;
    }
    const auto interval = static_cast<size_t>(config.positive("no_rope_layer_interval"));
    for (size_t i = 0; i < layers; ++i) out[i] = (i + 1) % interval != 0;
    return out;
}

// The attention window of each layer; 0: unlimited.
std::vector<int64_t> windows(const Config &config, const Kind &kind, const std::vector<bool> &turns) {
    std::vector<int64_t> out(turns.size(), 0);
    if (!config.reads("sliding_window")) return out;
    if (kind.one_window) return std::vector<int64_t>(turns.size(), common_window(config));
    const auto given = config.find("sliding_window");
    // transformers writes 0 for Qwen MoE where no layer has one.
    const bool none = config.reads("use_sliding_window") && !config.flag("use_sliding_window") && given &&
                      given->is_number() && given->number() == 0;
    const int64_t window = given && !none ? config.positive("sliding_window") : 0;
    // mistral has the same window everywhere; with layer_types, transformers takes it for ministral, which has not.
    const bool everywhere = !config.reads("use_sliding_window");
    const bool listed = kind.mixture == nullptr || config.reads("layer_types");
    const std::vector<std::string> types =
        listed ? config.layer_types(static_cast<int64_t>(turns.size())) : std::vector<std::string>();
    if (!listed && (window == 0 || (!everywhere && !config.flag("use_sliding_window")))) refuse_sliding_layers(config);
    if (everywhere && types.empty()) return std::vector<int64_t>(turns.size(), window);
    if (everywhere && !config.has("head_dim")) config.fail("head_dim", "is missing, which layer_types need here");
    const bool slides = everywhere || config.flag("use_sliding_window");
    // So many at the start have none; in SmolLM3 those that turn queries and keys have none.
    const auto full = config.reads("max_window_layers") ? static_cast<size_t>(config.integer("max_window_layers")) : 0;
    const bool by_turns = config.reads("no_rope_layers");
    if (kind.alternating && slides && types.empty() && window == 0)
        config.fail("sliding_window", "expected a number, which \"use_sliding_window\": true needs");
    const auto has_none = [&](size_t i) {
        if (by_turns) return window == 0 || turns[i];
        return kind.alternating ? i % 2 != 0 || i >= full : i < full;
    };
    for (size_t i = 0; i < turns.size(); ++i) {
        if (types.empty() ? !slides || has_none(i) : types[i] != "sliding_attention") continue;
        if (!types.empty() && (!slides || window == 0))
            config.fail("layer_types",
                        "has sliding_attention, which needs \"use_sliding_window\": true and a number as "
                        "\"sliding_window\"");
        out[i] = window;
    }
    return out;
}

void build(Draft &draft, const Kind &kind) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.integer("hidden_size");
    const AttentionHeads heads = AttentionHeads::of(config, width);
    const std::string activation = config.activation("hidden_act");
    const auto adds_bias = [&](const char *key) { return config.reads(key) && config.flag(key); };
    for (const char *key : {"clip_qkv", "sliding_window"})
        if (kind.normed_whole && config.reads(key) && config.find(key)) config.fail(key, "is not supported here");
    const bool all_biased = adds_bias("use_bias"), mlp_biased = adds_bias("mlp_bias") || all_biased,
               attention_bias = adds_bias("attention_bias") || all_biased;
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const std::vector<bool> turns = rotary_layers(config, static_cast<size_t>(layers));
    const std::vector<int64_t> window = windows(config, kind, turns);
    const GraniteFactors factor = GraniteFactors::of(config, draft.gguf);
    if (draft.gguf) config.expect("positions_count", true);
    const double eps = factor.eps(config);

    const DecoderGraph decoder(draft);
    const bool causal = !config.reads("is_causal") || config.flag("is_causal");
    if (!causal && (decoder.continues() || std::ranges::any_of(window, [](int64_t each) { return each != 0; })))
        config.fail("is_causal", "false is supported for models of embeddings without sliding windows; expected true");
    draft.causal = causal;
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, heads.dim, kind.rotary),
                                   kind.interleaved || (draft.gguf && kind.interleaved_in_gguf));
    if (std::ranges::find(turns, true) == turns.end()) draft.unused.insert("model.rotary.frequencies");
    const auto head_norm = [&](const std::string &module, const std::string &x, int64_t count) {
        return graph.rms_norm(module, x, {.eps = eps, .groups = kind.normed_whole ? 1 : count});
    };
    std::optional<Mixture> mixture;
    if (kind.mixture != nullptr) mixture.emplace(draft, *kind.mixture);
    const std::string table = "model.embed_tokens";
    const double scale = factor.embedding / factor.residual;
    std::string x =
        decoder.embedded(scale == 1 ? table : table + ".scaled",
                         {.rows = vocabulary, .channels = width, .scale = scale, .table = table + ".weight"});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), self = layer + ".self_attn",
                          mlp = layer + ".mlp";
        if (kind.fused) {
            split(draft, graph, self + ".qkv_proj",
                  {.inputs = width,
                   .parts = {{self + ".q_proj", heads.count * heads.dim},
                             {self + ".k_proj", heads.kv_count * heads.dim},
                             {self + ".v_proj", heads.kv_count * heads.dim}}});
            split(draft, graph, mlp + ".gate_up_proj",
                  {.inputs = width, .parts = {{mlp + ".gate_proj", hidden}, {mlp + ".up_proj", hidden}}});
        }
        x = decoder.self_attention(
            self, graph.rms_norm(layer + ".input_layernorm", x, {.eps = eps}),
            {.heads = heads,
             .biased = kind.biased_heads || attention_bias || adds_bias("qkv_bias"),
             .out_biased = attention_bias,
             .norm = kind.normed_heads || kind.normed_whole ? head_norm : DecoderGraph::HeadNorm(),
             .rotary = turns[static_cast<size_t>(i)] ? &rotary_layer : nullptr,
             .scale = factor.attention,
             .window = window[static_cast<size_t>(i)],
             .residual = x,
             .causal = causal});
        const std::string normed = graph.rms_norm(layer + ".post_attention_layernorm", x, {.eps = eps});
        if (mixture && mixture->is_in(i))
            x = (*mixture)(layer, graph, normed, x);
        else
            x = graph.feed_forward(
                mlp, normed,
                {.hidden = hidden, .activation = activation, .gate = "gate_proj", .residual = x, .biased = mlp_biased});
        x = decoder.with_details(layer, i, x);
    }
    std::string norm = "model.norm";
    if (factor.logits != 1 && decoder.scores_words()) norm = scaled_norm(draft, graph, norm, width, factor.logits);
    x = graph.rms_norm(norm, x, {.eps = eps});
    decoder.add_outputs(x, {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 1> fused_tensors{{
    {"blk.{i}.ffn_up", "model.layers.{i}.mlp.gate_up_proj"},
}};
// What converters write of Granite 4 for its models without states, which are of these architectures.
constexpr std::array<SettingName, 6> granite4_settings{{
    {"expert_shared_feed_forward_length", "shared_intermediate_size"},
    {"ssm.conv_kernel", "mamba_d_conv"},
    {"ssm.group_count", "mamba_n_groups"},
    {"ssm.inner_size", "mamba_d_inner"},
    {"ssm.state_size", "mamba_d_state"},
    {"ssm.time_step_rank", "mamba_n_heads"},
}};
constexpr auto granite_settings = joined(granite_factor_settings, granite4_settings);
constexpr std::array<SettingName, 2> mistral3_settings{{
    {"attention.temperature_scale", "llama_4_scaling_beta"},
    {"rope.scaling.yarn_log_multiplier", "mscale_all_dim"},
}};
constexpr std::array<SettingName, 1> phi3_settings{{
    {"rope.scaling.original_context_length", "original_max_position_embeddings"},
}};
constexpr std::array<TensorFlag, 1> all_biases{{{"use_bias", "blk.0.attn_q.bias"}}};
constexpr std::array<TensorFlag, 2> biases{{
    {"attention_bias", "blk.0.attn_q.bias"},
    {"mlp_bias", "blk.0.ffn_up.bias"},
}};

constexpr std::array<TensorFlag, 1> qkv_biases{{{"qkv_bias", "blk.0.attn_q.bias"}}};

// ---- Mixtures of experts ----

constexpr std::array<TensorName, 5> mixtral_tensors{{
    {"blk.{i}.ffn_gate_inp", "model.layers.{i}.block_sparse_moe.gate"},
    {"blk.{i}.ffn_gate_exps", "model.layers.{i}.block_sparse_moe.experts.gate_proj"},
    {"blk.{i}.ffn_up_exps", "model.layers.{i}.block_sparse_moe.experts.up_proj"},
    {"blk.{i}.ffn_down_exps", "model.layers.{i}.block_sparse_moe.experts.down_proj"},
    {"blk.{i}.ffn_gate_up_exps", "model.layers.{i}.block_sparse_moe.experts.gate_up_proj"},
}};

constexpr std::array<SettingName, 4> moe_settings{{
    {"expert_count", "num_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_used_count", "num_experts_per_tok"},
}};
constexpr std::array<SettingName, 2> mixtral_settings{{
    {"expert_count", "num_local_experts"},
    {"expert_used_count", "num_experts_per_tok"},
}};
constexpr auto granitemoe_settings = joined(granite_settings, mixtral_settings);

constexpr MixtureKind mixtral{.block = ".block_sparse_moe",
                              .experts = "num_local_experts",
                              .hidden = "intermediate_size",
                              .up = "w3",
                              .gate = "w1",
                              .down = "w2"};
constexpr MixtureKind olmoe{.hidden = "intermediate_size", .normalized = false};
constexpr MixtureKind qwen2_moe{.normalized = false, .shared = true};
constexpr MixtureKind qwen3_moe{};
constexpr MixtureKind qwen3_vl_moe{.inputs = "experts.gate_up_proj", .outputs = "experts.down_proj", .turned = true};

// Of a file with images, the part for texts; what reads images gets a name outside of the base model.
constexpr std::array<Renaming, 2> of_texts{{{"model.language_model.", "model."}, {"model.visual.", "visual."}}};
constexpr RotaryKind axes{.axes = true}, sections{.axes = true, .sections = true},
    interleaved_axes{.axes = true, .turns = {24, 20, 20}};

} // namespace

namespace families {

std::span<const Architecture> llama() {
    static constexpr std::array<Architecture, 18> kinds{{
        {"ernie4_5",
         [](Draft &draft) { build(draft, {.interleaved = true}); },
         {"ernie4_5", {}, {}, all_biases},
         "model"},
        {"granite",
         [](Draft &draft) { build(draft, {.interleaved_in_gguf = true}); },
         {"granite", {}, granite_settings, biases},
         "model"},
        {"granitemoe",
         [](Draft &draft) { build(draft, {.interleaved_in_gguf = true, .mixture = &granite_mixture}); },
         {"granitemoe", granite_mixture_tensors, granitemoe_settings, biases},
         "model"},
        {"llama",
         [](Draft &draft) { build(draft, {.interleaved_in_gguf = true}); },
         {.architecture = "llama", .flags = biases, .divided_frequencies = true},
         "model"},
        {"ministral3",
         [](Draft &draft) { build(draft, {.interleaved_in_gguf = true, .rotary = {.scales_queries = true}}); },
         {"mistral3", {}, mistral3_settings},
         "model"},
        {"mistral", [](Draft &draft) { build(draft, {}); }, {}, "model"},
        {"mixtral",
         [](Draft &draft) { build(draft, {.interleaved_in_gguf = true, .mixture = &mixtral}); },
         {.architecture = "llama",
          .tensors = mixtral_tensors,
          .settings = mixtral_settings,
          .divided_frequencies = true,
          .only_with = "expert_count"},
         "model"},
        {"olmoe",
         [](Draft &draft) { build(draft, {.normed_whole = true, .mixture = &olmoe}); },
         {"olmoe", {}, moe_settings},
         "model"},
        {"phi3",
         [](Draft &draft) {
             build(draft, {.fused = true, .one_window = true, .rotary = {.part = 1, .old_longrope = true}});
         },
         {"phi3", fused_tensors, phi3_settings},
         "model"},
        {"qwen2", [](Draft &draft) { build(draft, {.biased_heads = true}); }, {"qwen2"}, "model"},
        {"qwen2_5_vl_text",
         [](Draft &draft) {
             build(draft, {.biased_heads = true, .rotary = draft.gguf && !draft.images ? axes : sections});
         },
         {},
         "model",
         of_texts},
        {"qwen2_moe",
         [](Draft &draft) { build(draft, {.alternating = true, .mixture = &qwen2_moe}); },
         {"qwen2moe", {}, moe_settings, qkv_biases},
         "model"},
        {"qwen2_vl_text",
         [](Draft &draft) {
             build(draft, {.biased_heads = true, .rotary = draft.gguf && !draft.images ? axes : sections});
         },
         {"qwen2vl"},
         "model",
         of_texts},
        {"qwen3", [](Draft &draft) { build(draft, {.normed_heads = true}); }, {"qwen3"}, "model"},
        {"qwen3_moe",
         [](Draft &draft) { build(draft, {.normed_heads = true, .mixture = &qwen3_moe}); },
         {"qwen3moe", {}, moe_settings},
         "model"},
        {"qwen3_vl_moe_text",
         [](Draft &draft) {
             build(draft, {.normed_heads = true,
                           .rotary = draft.gguf && !draft.images ? axes : interleaved_axes,
                           .mixture = &qwen3_vl_moe});
         },
         {"qwen3vlmoe", {}, moe_settings},
         "model",
         of_texts},
        {"qwen3_vl_text",
         [](Draft &draft) {
             build(draft, {.normed_heads = true, .rotary = draft.gguf && !draft.images ? axes : interleaved_axes});
         },
         {"qwen3vl"},
         "model",
         of_texts},
        {"smollm3",
         [](Draft &draft) { build(draft, {.interleaved_in_gguf = true}); },
         {"smollm3", {}, {}, biases},
         "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
