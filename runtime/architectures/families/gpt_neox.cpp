// GPT-NeoX (Black et al., arXiv:2204.06745), Pythia (arXiv:2304.01373), GPT-J (Wang, Komatsuzaki, 2021) and GPT-Neo
// (Black et al., 2021).
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

int64_t channels_of_heads(const Config &config, const char *heads, int64_t width) {
    const int64_t count = config.positive(heads);
    if (width % count != 0) config.fail(heads, "expected a divisor of the width, " + std::to_string(width));
    return width / count;
}

void build_neox(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size");
    const int64_t head_dim = channels_of_heads(config, "num_attention_heads", width), heads = width / head_dim;
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const std::string activation = config.activation("hidden_act");
    const double eps = config.real("layer_norm_eps");
    const bool biased = config.flag("attention_bias"), parallel = config.flag("use_parallel_residual");

    const char *const part = "partial_rotary_factor";
    if (!config.find("rope_parameters") && config.has(part) && config.real(part) != config.real("rotary_pct"))
        config.fail(part, "expected the same as rotary_pct");
    for (const char *other : {"rope_theta", part}) config.ignore_here(other);
    if (draft.gguf) config.expect("head_dim", static_cast<double>(head_dim));
    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(
        draft, "gpt_neox.rotary.frequencies",
        rotary(draft, head_dim, {.part = 0.25, .part_key = "rotary_pct", .theta_key = "rotary_emb_base"}), false);
    Tensor x = graph.embedding("gpt_neox.embed_in", decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "gpt_neox.layers." + std::to_string(i), self = layer + ".attention";
        split_heads(draft, graph, self + ".query_key_value",
                    {.inputs = width,
                     .parts = {{self + ".q_proj", width}, {self + ".k_proj", width}, {self + ".v_proj", width}},
                     .biased = biased},
                    heads);
        const Tensor attended =
            decoder.self_attention(self, graph.layer_norm(layer + ".input_layernorm", x, {.eps = eps}),
                                   {.heads = {heads, heads, head_dim},
                                    .biased = biased,
                                    .out_biased = biased,
                                    .out = "dense",
                                    .rotary = &rotary_layer,
                                    .residual = x});
        const Tensor tokens =
            graph.layer_norm(layer + ".post_attention_layernorm", parallel ? x : attended, {.eps = eps});
        x = graph.feed_forward(layer + ".mlp", tokens,
                               {.hidden = hidden,
                                .activation = activation,
                                .up = "dense_h_to_4h",
                                .down = "dense_4h_to_h",
                                .residual = attended});
        for (const char *old : {".bias", ".masked_bias", ".rotary_emb.inv_freq"}) draft.unused.insert(self + old);
    }
    decoder.add_outputs(graph.layer_norm("gpt_neox.final_layer_norm", x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = "gpt_neox.embed_in.weight", .tokens = "classifier"});
}

void build_gptj(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("n_layer"), width = config.positive("n_embd");
    const int64_t head_dim = channels_of_heads(config, "n_head", width), heads = width / head_dim;
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.integer("n_inner", 4 * width);
    const std::string activation = config.activation("activation_function");
    const double eps = config.real("layer_norm_epsilon");
    const int64_t turned = config.positive("rotary_dim"), positions = config.positive("n_positions");
    constexpr int64_t most_channels = 65536; // so that a bad file cannot exhaust memory
    if (turned % 2 != 0 || turned > std::min(head_dim, most_channels))
        config.fail("rotary_dim",
                    "expected an even number, at most the channels of a head, " + std::to_string(head_dim));
    Rotary rotary;
    rotary.positions = positions;
    for (int64_t i = 0; i < turned; i += 2)
        rotary.frequencies.push_back(
            static_cast<float>(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(turned))));

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "transformer.rotary.frequencies", rotary, true);
    Tensor x = graph.embedding("transformer.wte", decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "transformer.h." + std::to_string(i), self = layer + ".attn";
        const Tensor tokens = graph.layer_norm(layer + ".ln_1", x, {.eps = eps});
        const Tensor attended = decoder.self_attention(
            self, tokens,
            {.heads = {heads, heads, head_dim}, .out = "out_proj", .rotary = &rotary_layer, .residual = x});
        x = graph.feed_forward(
            layer + ".mlp", tokens,
            {.hidden = hidden, .activation = activation, .up = "fc_in", .down = "fc_out", .residual = attended});
        for (const char *mask : {".bias", ".masked_bias"}) draft.unused.insert(self + mask);
    }
    decoder.add_outputs(graph.layer_norm("transformer.ln_f", x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = "transformer.wte.weight", .biased = true});
}

// Which layers have a window, by "attention_types": [[["global", "local"], 12]].
std::vector<bool> local_layers(const Config &config, int64_t layers) {
    std::vector<bool> out;
    const auto add = [&](JsonView kind) {
        if (kind.string() != "global" && kind.string() != "local") kind.fail("expected global or local");
        if (out.size() == static_cast<size_t>(layers))
            kind.fail("expected kinds of " + std::to_string(layers) + " layers, found more");
        out.push_back(kind.string() == "local");
    };
    if (config.is_null("attention_layers")) config.fail("attention_layers", "expected kinds of layers, found null");
    if (const auto each = config.find("attention_layers")) { // older files say it twice
        for (const JsonView kind : each->items()) add(kind);
        config.ignore({"attention_types"});
    } else if (const auto types = config.find("attention_types")) {
        for (const JsonView group : types->items()) {
            std::vector<JsonView> parts;
            for (const JsonView part : group.items()) parts.push_back(part);
            if (parts.size() != 2)
                group.fail("expected kinds and how often they come, as in [[\"global\", \"local\"], 12]");
            for (int64_t times = parts[1].integer(0, layers); times > 0; --times)
                for (const JsonView kind : parts[0].items()) add(kind);
        }
    } else {
        for (int64_t i = 0; i < 24; ++i) out.push_back(i % 2 != 0);
    }
    if (out.size() != static_cast<size_t>(layers))
        config.fail("attention_types",
                    "expected kinds of " + std::to_string(layers) + " layers, found " + std::to_string(out.size()));
    return out;
}

void build_neo(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_layers"), width = config.positive("hidden_size");
    const int64_t head_dim = channels_of_heads(config, "num_heads", width), heads = width / head_dim;
    const int64_t positions = config.positive("max_position_embeddings");
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.integer("intermediate_size", 4 * width);
    const std::string activation = config.activation("activation_function");
    const double eps = config.real("layer_norm_epsilon");
    const std::vector<bool> local = local_layers(config, layers);
    const int64_t window = config.positive("window_size");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    Tensor x = graph.embedding("transformer.wte", decoder.ids(), {.rows = vocabulary, .channels = width});
    x = graph.learned_positions("transformer.wpe", x, decoder.position(), positions);
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "transformer.h." + std::to_string(i), self = layer + ".attn.attention";
        x = decoder.self_attention(self, graph.layer_norm(layer + ".ln_1", x, {.eps = eps}),
                                   {.heads = {heads, heads, head_dim},
                                    .out_biased = true,
                                    .out = "out_proj",
                                    .scale = 1, // the initial weights have the usual factor
                                    .window = local[static_cast<size_t>(i)] ? window : 0,
                                    .residual = x});
        x = graph.feed_forward(
            layer + ".mlp", graph.layer_norm(layer + ".ln_2", x, {.eps = eps}),
            {.hidden = hidden, .activation = activation, .up = "c_fc", .down = "c_proj", .residual = x});
        for (const char *mask : {".bias", ".masked_bias"}) draft.unused.insert(self + mask);
    }
    decoder.add_outputs(graph.layer_norm("transformer.ln_f", x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = "transformer.wte.weight", .tokens = "classifier"});
}

constexpr std::array<TensorName, 8> neox_tensors{{
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"blk.{i}.attn_norm", "gpt_neox.layers.{i}.input_layernorm"},
    {"blk.{i}.attn_qkv", "gpt_neox.layers.{i}.attention.query_key_value"},
    {"blk.{i}.attn_output", "gpt_neox.layers.{i}.attention.dense"},
    {"blk.{i}.ffn_norm", "gpt_neox.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_up", "gpt_neox.layers.{i}.mlp.dense_h_to_4h"},
    {"blk.{i}.ffn_down", "gpt_neox.layers.{i}.mlp.dense_4h_to_h"},
}};
constexpr std::array<SettingName, 2> neox_settings{{
    {"rope.freq_base", "rotary_emb_base"},
    {"use_parallel_residual", "use_parallel_residual"},
}};

constexpr std::array<Renaming, 1> neox_names{{{"embed_out.", "lm_head."}}};

} // namespace

namespace families {

std::span<const Architecture> gpt_neox() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"gpt_neo", build_neo, {}, "transformer"},
        {"gpt_neox", build_neox, {"gptneox", neox_tensors, neox_settings}, "gpt_neox", neox_names},
        {"gptj", build_gptj, {}, "transformer"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
