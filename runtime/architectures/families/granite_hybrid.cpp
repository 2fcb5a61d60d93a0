// Granite 4 (IBM): most layers have a state, as in Mamba-2, the others attention; after each, a feed-forward layer, and
// in some models experts beside it.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/granite_factors.hpp"
#include "architectures/joined.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/mixture.hpp"
#include "architectures/scan_layer.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// Which layers have attention; the others have a state.
std::vector<bool> layers_with_attention(const Config &config, int64_t layers, bool of_gguf) {
    std::vector<bool> out(static_cast<size_t>(layers));
    const auto expect_count = [&](const char *key, size_t found) {
        if (found != out.size())
            config.fail(key, "expected " + std::to_string(layers) + " entries, one for each layer, found " +
                                 std::to_string(found));
    };
    if (of_gguf) {
        const auto flags = config.find("attention_layers");
        if (!flags) return std::vector<bool>(out.size(), true);
        expect_count("attention_layers", flags->items().size());
        size_t i = 0;
        for (const JsonView flag : flags->items()) out[i++] = flag.boolean();
    } else if (config.has("layer_types")) {
        const std::vector<std::string> types = config.texts("layer_types");
        expect_count("layer_types", types.size());
        for (size_t i = 0; i < out.size(); ++i) {
            out[i] = types[i] == "full_attention" || types[i] == "attention";
            if (!out[i] && types[i] != "linear_attention" && types[i] != "mamba")
                config.fail("layer_types", "expected attention or mamba, found " + in_quotes(types[i]));
        }
    }
    return out;
}

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size"),
                  vocabulary = config.positive("vocab_size");
    const AttentionHeads attending = AttentionHeads::of(config, width);
    const std::string activation = config.activation("hidden_act");
    const GraniteFactors factor = GraniteFactors::of(config, draft.gguf);
    const double eps = factor.eps(config);
    const bool biased = config.flag("attention_bias"),
               turned = draft.gguf ? config.flag("positions_count", true)
                                   : config.text("position_embedding_type", "") == "rope";
    const std::vector<bool> attends = layers_with_attention(config, layers, draft.gguf);
    const int64_t experts = draft.gguf && !config.has("num_local_experts") ? 0 : config.integer("num_local_experts", 0);

    const int64_t heads = config.positive("mamba_n_heads"), inner = width * config.positive("mamba_expand");
    const auto given_dim = config.find("mamba_d_head"); // "auto", or a number
    const bool automatic = !given_dim || (given_dim->is_string() && given_dim->string() == "auto");
    if (!draft.gguf && (inner % heads != 0 || (!automatic && config.positive("mamba_d_head") * heads != inner)))
        config.fail("mamba_n_heads",
                    "expected that all heads have mamba_expand * hidden_size channels, " + std::to_string(inner));
    Scan scan{.heads = heads,
              .head_dim = draft.gguf ? scan_head_dim(config, heads) : inner / heads,
              .groups = config.positive("mamba_n_groups"),
              .state_dim = config.positive("mamba_d_state"),
              .width = config.positive("mamba_d_conv"),
              .biased = config.flag("mamba_proj_bias"),
              .convolution_biased = config.flag("mamba_conv_bias"),
              .activation = activation,
              .eps = config.real("rms_norm_eps")};
    scan.limit_steps(config);
    scan.check(config, "mamba_n_heads", "mamba_n_groups");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, attending.dim), draft.gguf);
    if (!turned || std::ranges::find(attends, true) == attends.end()) draft.unused.insert("model.rotary.frequencies");
    const ScanLayer mixer(draft, decoder, scan);
    std::optional<Mixture> mixture;
    if (experts != 0)
        mixture.emplace(draft, granite_mixture);
    else
        config.ignore({"intermediate_size", "num_experts_per_tok"});
    const int64_t hidden = config.positive(
        draft.gguf && !config.has("shared_intermediate_size") ? "intermediate_size" : "shared_intermediate_size");

    const std::string table = "model.embed_tokens";
    const double scale = factor.embedding / factor.residual;
    Tensor x = graph.embedding(scale == 1 ? table : table + ".scaled", decoder.ids(),
                               {.rows = vocabulary, .channels = width, .scale = scale, .table = table + ".weight"});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), mlp = layer + ".shared_mlp";
        const Tensor normed = graph.rms_norm(layer + ".input_layernorm", x, {.eps = eps});
        if (!attends[static_cast<size_t>(i)])
            x = mixer(layer + ".mamba", normed, x);
        else
            x = decoder.self_attention(layer + ".self_attn", normed,
                                       {.heads = attending,
                                        .biased = biased,
                                        .out_biased = biased,
                                        .rotary = turned ? &rotary_layer : nullptr,
                                        .scale = factor.attention,
                                        .residual = x});
        const Tensor between = graph.rms_norm(layer + ".post_attention_layernorm", x, {.eps = eps});
        if (mixture) x = (*mixture)(layer, graph, between, x);
        if (!draft.gguf) {
            split(draft, graph, mlp + ".input_linear",
                  {.inputs = width, .parts = {{mlp + ".gate_proj", hidden}, {mlp + ".up_proj", hidden}}});
        }
        x = graph.feed_forward(mlp, between,
                               {.hidden = hidden,
                                .activation = activation,
                                .down = "output_linear",
                                .gate = "gate_proj",
                                .residual = x,
                                .biased = false});
    }
    std::string norm = "model.norm";
    if (factor.logits != 1 && decoder.scores_words()) norm = scaled_norm(draft, graph, norm, width, factor.logits);
    decoder.add_outputs(graph.rms_norm(norm, x, {.eps = eps}), {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 12> own_tensors{{
    {"blk.{i}.ssm_in", "model.layers.{i}.mamba.in_proj"},
    {"blk.{i}.ssm_conv1d", "model.layers.{i}.mamba.conv1d"},
    {"blk.{i}.ssm_dt", "model.layers.{i}.mamba.dt"},
    {"blk.{i}.ssm_norm", "model.layers.{i}.mamba.norm"},
    {"blk.{i}.ssm_out", "model.layers.{i}.mamba.out_proj"},
    {"blk.{i}", "model.layers.{i}.mamba"}, // ssm_a and ssm_d, which have no other part
    {"blk.{i}.ffn_gate_shexp", "model.layers.{i}.shared_mlp.gate_proj"},
    {"blk.{i}.ffn_up_shexp", "model.layers.{i}.shared_mlp.up_proj"},
    {"blk.{i}.ffn_down_shexp", "model.layers.{i}.shared_mlp.output_linear"},
    // Without experts.
    {"blk.{i}.ffn_gate", "model.layers.{i}.shared_mlp.gate_proj"},
    {"blk.{i}.ffn_up", "model.layers.{i}.shared_mlp.up_proj"},
    {"blk.{i}.ffn_down", "model.layers.{i}.shared_mlp.output_linear"},
}};
constexpr std::array<SettingName, 8> own_settings{{
    {"expert_count", "num_local_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_shared_feed_forward_length", "shared_intermediate_size"},
    {"ssm.conv_kernel", "mamba_d_conv"},
    {"ssm.group_count", "mamba_n_groups"},
    {"ssm.inner_size", "inner_size"},
    {"ssm.state_size", "mamba_d_state"},
    {"ssm.time_step_rank", "mamba_n_heads"},
}};
constexpr auto tensors = joined(own_tensors, granite_mixture_tensors);
constexpr auto settings = joined(own_settings, granite_factor_settings);

} // namespace

namespace families {

std::span<const Architecture> granite_hybrid() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"granitemoehybrid", build, {"granitehybrid", tensors, settings}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
