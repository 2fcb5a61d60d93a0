// Mamba-2 (Dao, Gu, arXiv:2405.21060), whose layers have a state instead of attention.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/scan_layer.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size"),
                  vocabulary = config.positive("vocab_size"), heads = config.positive("num_heads");
    const double eps = config.real("layer_norm_epsilon");
    Scan scan{.heads = heads,
              .head_dim = draft.gguf ? scan_head_dim(config, heads) : config.positive("head_dim"),
              .groups = config.positive("n_groups"),
              .state_dim = config.positive("state_size"),
              .width = config.positive("conv_kernel"),
              .biased = config.flag("use_bias"),
              .convolution_biased = config.flag("use_conv_bias"),
              .activation = config.activation("hidden_act"),
              .eps = eps};
    if (config.states("layer_types"))
        config.fail("layer_types", "is not a key of such models, whose layers are all alike; leave it out");
    if (draft.gguf) config.ignore({"head_dim"}); // of attention, which no layer has
    scan.limit_steps(config);
    scan.check(config, "num_heads", "n_groups");
    if (!draft.gguf && width * config.positive("expand") != scan.heads * scan.head_dim)
        config.fail("expand",
                    "times hidden_size, expected num_heads * head_dim, " + std::to_string(scan.heads * scan.head_dim));

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const ScanLayer mixer(draft, decoder, scan);
    const std::string table = "backbone.embeddings";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "backbone.layers." + std::to_string(i);
        x = mixer(layer + ".mixer", graph.rms_norm(layer + ".norm", x, {.eps = eps}), x);
    }
    decoder.add_outputs(graph.rms_norm("backbone.norm_f", x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 9> tensors{{
    {"token_embd", "backbone.embeddings"},
    {"output_norm", "backbone.norm_f"},
    {"blk.{i}.attn_norm", "backbone.layers.{i}.norm"},
    {"blk.{i}.ssm_in", "backbone.layers.{i}.mixer.in_proj"},
    {"blk.{i}.ssm_conv1d", "backbone.layers.{i}.mixer.conv1d"},
    {"blk.{i}.ssm_dt", "backbone.layers.{i}.mixer.dt"},
    {"blk.{i}.ssm_norm", "backbone.layers.{i}.mixer.norm"},
    {"blk.{i}.ssm_out", "backbone.layers.{i}.mixer.out_proj"},
    {"blk.{i}", "backbone.layers.{i}.mixer"}, // ssm_a and ssm_d, which have no other part
}};
constexpr std::array<SettingName, 6> settings{{
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
    {"ssm.conv_kernel", "conv_kernel"},
    {"ssm.group_count", "n_groups"},
    {"ssm.inner_size", "inner_size"},
    {"ssm.state_size", "state_size"},
    {"ssm.time_step_rank", "num_heads"},
}};

} // namespace

namespace families {

std::span<const Architecture> mamba2() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"mamba2", build, {"mamba2", tensors, settings}, "backbone"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
