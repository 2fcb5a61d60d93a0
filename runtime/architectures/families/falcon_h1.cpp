// Falcon-H1 (TII: Falcon-H1, arXiv:2507.22448): attention and a selective scan beside each other in every layer, and
// factors of what nearly every part computes. GGUF files have the factors in their weights.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/scan_layer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Factors {
    double embedding = 1, logits = 1, attention_in = 1, attention_out = 1, key = 1, gate = 1, down = 1;
    ScanFactors scan = {};
};

// What a layer `activation` can divide by.
double checked(const Config &config, const char *key, double factor) {
    if (!(factor >= 1e-6 && factor <= 1e3)) config.fail(key, "expected numbers from 0.000001 to 1000");
    return factor;
}

// Where the product before has a bias, a factor would be of it, too, or would not.
void refuse_biased(const Config &config, const char *bias, const char *key, double factor) {
    if (factor != 1 && config.flag(bias)) config.fail(bias, std::string("is not supported beside ") + key);
}

std::vector<double> several(const Config &config, const char *key, size_t count) {
    std::vector<double> out(count, 1);
    if (!config.find(key)) return out;
    out = config.reals(key);
    if (out.size() != count) config.fail(key, "expected " + std::to_string(count) + " numbers");
    for (const double factor : out) (void)checked(config, key, factor);
    return out;
}

Factors factors_of(const Draft &draft) {
    if (draft.gguf) return {};
    const Config &config = draft.config;
    const auto one = [&](const char *key) { return checked(config, key, config.real(key)); };
    const double scan_in = one("ssm_in_multiplier");
    const std::vector<double> feed_forward = several(config, "mlp_multipliers", 2),
                              scan = several(config, "ssm_multipliers", 5);
    Factors out{.embedding = one("embedding_multiplier"),
                .logits = one("lm_head_multiplier"),
                .attention_in = one("attention_in_multiplier"),
                .attention_out = one("attention_out_multiplier"),
                .key = one("key_multiplier"),
                .gate = feed_forward[0],
                .down = feed_forward[1],
                .scan = {.gate = scan_in * scan[0],
                         .values = scan_in * scan[1],
                         .keys = scan_in * scan[2],
                         .queries = scan_in * scan[3],
                         .step = scan_in * scan[4],
                         .result = one("ssm_out_multiplier")}};
    (void)checked(config, "ssm_multipliers", out.scan.gate);
    refuse_biased(config, "attention_bias", "attention_out_multiplier", out.attention_out);
    refuse_biased(config, "mlp_bias", "mlp_multipliers", out.down);
    refuse_biased(config, "mamba_proj_bias", "ssm_in_multiplier", scan_in);
    refuse_biased(config, "projectors_bias", "ssm_out_multiplier", out.scan.result);
    return out;
}

ScanNorm norm_of(const Draft &draft) {
    const Config &config = draft.config;
    if (draft.gguf) return config.flag("mamba_rms_norm") ? ScanNorm::after_gate : ScanNorm::none;
    const bool first = config.flag("mamba_norm_before_gate");
    if (!config.flag("mamba_rms_norm")) return ScanNorm::none;
    return first ? ScanNorm::before_gate : ScanNorm::after_gate;
}

// Channels of a head of the scan.
int64_t scan_channels(const Draft &draft, int64_t heads) {
    const Config &config = draft.config;
    if (draft.gguf) return scan_head_dim(config, heads);
    const bool given = config.find("mamba_d_ssm").has_value();
    if (given) config.ignore({"mamba_expand"});
    const int64_t all =
        given ? config.positive("mamba_d_ssm") : config.positive("mamba_expand") * config.positive("hidden_size");
    const auto of_head = config.find("mamba_d_head"); // "auto", or a number
    const bool automatic = !of_head || (of_head->is_string() && of_head->string() == "auto");
    const int64_t out = automatic ? all / heads : config.positive("mamba_d_head");
    if (out == 0 || out > all || out * heads != all)
        config.fail("mamba_n_heads", "expected that all heads have " + std::to_string(all) + " channels");
    return out;
}

Scan scan_of(const Draft &draft, const Factors &factor) {
    const Config &config = draft.config;
    const int64_t heads = config.positive("mamba_n_heads");
    Scan out{.heads = heads,
             .head_dim = scan_channels(draft, heads),
             .groups = config.positive("mamba_n_groups"),
             .state_dim = config.positive("mamba_d_state"),
             .width = config.positive("mamba_d_conv"),
             .biased = config.flag("mamba_proj_bias"),
             .convolution_biased = config.flag("mamba_conv_bias"),
             .activation = config.activation("hidden_act"),
             .eps = config.real("rms_norm_eps"),
             .result_biased = config.flag("projectors_bias"),
             .norm = norm_of(draft),
             .factor = factor.scan};
    out.limit_steps(config);
    out.check(config, "mamba_n_heads", "mamba_n_groups");
    return out;
}

// down(factor * up(x) * activation(gate * gate(x))), and x.
Tensor feed_forward(GraphWriter &graph, const std::string &module, const Tensor &normed, const Factors &factor,
                    const GraphWriter::FeedForward &options) {
    if (factor.gate == 1 && factor.down == 1) return graph.feed_forward(module, normed, options);
    const auto product = [&](const std::string &part) {
        return graph.linear(module + "." + part, normed, {.outputs = options.hidden, .biased = options.biased});
    };
    const Tensor gated = graph.layer(
        module + ".gated", "activation", {{"x", product(options.gate)}, {"times", product(options.up)}},
        {{"activation", options.activation}, {"scale", 1 / factor.gate}, {"factor", factor.gate * factor.down}});
    return graph.linear(module + "." + options.down, gated, {.residual = options.residual, .biased = options.biased});
}

// llama.cpp's name of this norm has no ".weight".
void rename_norms(Draft &draft, int64_t layers) {
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), stored = layer + ".mamba.ffn_norm",
                          name = layer + ".pre_ff_layernorm.weight";
        if (!draft.weights.entries().contains(stored) || draft.weights.entries().contains(name)) continue;
        draft.weights.add(name, draft.weights.at(stored));
        draft.unused.insert(stored);
    }
}

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size"),
                  vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const AttentionHeads heads = AttentionHeads::of(config, width);
    const std::string activation = config.activation("hidden_act");
    const double eps = config.real("rms_norm_eps");
    const bool biased = config.flag("attention_bias"), mlp_biased = config.flag("mlp_bias");
    if (config.states("layer_types"))
        config.fail("layer_types", "is not a key of such models, whose layers are all alike; leave it out");
    const Factors factor = factors_of(draft);
    if (draft.gguf) rename_norms(draft, layers);
    if (draft.gguf && continues_texts(draft) && !draft.weights.entries().contains("lm_head.weight"))
        throw Error(ErrorCode::input, draft.weights.file().string() +
                                          ": there is no tensor 'output.weight'. Words that share the table of "
                                          "embeddings have another factor than it, which GGUF files do not say: take "
                                          "the model's Hugging Face folder");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, heads.dim), false);
    const ScanLayer mixer(draft, decoder, scan_of(draft, factor));
    const auto normed = [&](const std::string &module, const Tensor &x) {
        return graph.rms_norm(module, x, {.eps = eps});
    };
    const std::string table = "model.embed_tokens";
    Tensor x =
        graph.embedding(factor.embedding == 1 ? table : table + ".scaled", decoder.ids(),
                        {.rows = vocabulary, .channels = width, .scale = factor.embedding, .table = table + ".weight"});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), norm = layer + ".input_layernorm";
        const Tensor tokens = normed(norm, x);
        Tensor attending = tokens;
        if (factor.attention_in != 1) { // a norm with other weights costs no more than a product
            attending = normed(scaled_norm(draft, graph, norm, width, factor.attention_in), x);
            draft.unused.erase(norm + ".weight");
        }
        const Tensor attended = decoder.self_attention(layer + ".self_attn", attending,
                                                       {.heads = heads,
                                                        .biased = biased,
                                                        .out_biased = biased,
                                                        .rotary = &rotary_layer,
                                                        .scale = factor.key / std::sqrt(heads.dim),
                                                        .factor = factor.attention_out,
                                                        .residual = x});
        x = mixer(layer + ".mamba", tokens, attended);
        x = feed_forward(
            graph, layer + ".feed_forward", normed(layer + ".pre_ff_layernorm", x), factor,
            {.hidden = hidden, .activation = activation, .gate = "gate_proj", .residual = x, .biased = mlp_biased});
    }
    std::string norm = "model.final_layernorm";
    if (factor.logits != 1 && decoder.scores_words()) norm = scaled_norm(draft, graph, norm, width, factor.logits);
    decoder.add_outputs(normed(norm, x), {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 11> tensors{{
    {"output_norm", "model.final_layernorm"},
    {"blk.{i}.ffn_norm", "model.layers.{i}.pre_ff_layernorm"},
    {"blk.{i}.ffn_gate", "model.layers.{i}.feed_forward.gate_proj"},
    {"blk.{i}.ffn_up", "model.layers.{i}.feed_forward.up_proj"},
    {"blk.{i}.ffn_down", "model.layers.{i}.feed_forward.down_proj"},
    {"blk.{i}.ssm_in", "model.layers.{i}.mamba.in_proj"},
    {"blk.{i}.ssm_conv1d", "model.layers.{i}.mamba.conv1d"},
    {"blk.{i}.ssm_dt", "model.layers.{i}.mamba.dt"},
    {"blk.{i}.ssm_norm", "model.layers.{i}.mamba.norm"},
    {"blk.{i}.ssm_out", "model.layers.{i}.mamba.out_proj"},
    {"blk.{i}", "model.layers.{i}.mamba"}, // ssm_a and ssm_d, which have no other part
}};
constexpr std::array<SettingName, 5> settings{{
    {"ssm.conv_kernel", "mamba_d_conv"},
    {"ssm.group_count", "mamba_n_groups"},
    {"ssm.inner_size", "inner_size"},
    {"ssm.state_size", "mamba_d_state"},
    {"ssm.time_step_rank", "mamba_n_heads"},
}};
constexpr std::array<TensorFlag, 1> flags{{{"mamba_rms_norm", "blk.0.ssm_norm.weight"}}};

} // namespace

namespace families {

std::span<const Architecture> falcon_h1() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"falcon_h1", build, {"falcon-h1", tensors, settings, flags}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
