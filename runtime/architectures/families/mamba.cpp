// Mamba (Gu, Dao, arXiv:2312.00752), whose layers have a state for each channel instead of attention, Falcon Mamba
// (arXiv:2410.05355), which normalizes keys, queries and steps, and Mamba-2 (Dao, Gu, arXiv:2405.21060), whose layers
// have a state for each head.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/joined.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/scan_layer.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <optional>
#include <utility>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Sizes {
    int64_t inner, state_dim, rank, kernel;
    bool biased, convolution_biased;
    std::string activation;
    std::optional<double> norm_eps; // of keys, queries and steps; none: they are not normalized
};

// Of the steps, before they become those of all channels: "auto", or a number.
int64_t rank_of(const Config &config, int64_t width) {
    const auto given = config.find("time_step_rank");
    const bool automatic = !given || (given->is_string() && given->string() == "auto");
    constexpr int64_t channels = 16; // for each of them
    return automatic ? (width + channels - 1) / channels : config.positive("time_step_rank");
}

std::optional<double> norm_eps_of(const Draft &draft) {
    const Config &config = draft.config;
    const bool normalizes = draft.gguf ? config.flag("normalizes", false) : config.reads("mixer_rms_eps");
    if (!normalizes) return std::nullopt;
    return config.real(draft.gguf ? "layer_norm_epsilon" : "mixer_rms_eps");
}

int64_t inner_of(const Draft &draft, int64_t width) {
    const Config &config = draft.config;
    if (draft.gguf) {
        config.ignore({"intermediate_size"}); // 0, of feed-forward layers
        return config.positive("inner_size");
    }
    if (config.is_null("intermediate_size")) config.fail("intermediate_size", "expected a number, found null");
    if (!config.find("intermediate_size")) return config.positive("expand") * width;
    config.ignore({"expand"});
    return config.positive("intermediate_size");
}

Sizes sizes_of(const Draft &draft, int64_t width) {
    const Config &config = draft.config;
    const Sizes out{.inner = inner_of(draft, width),
                    .state_dim = config.positive("state_size"),
                    .rank = rank_of(config, width),
                    .kernel = config.positive("conv_kernel"),
                    .biased = config.flag("use_bias"),
                    .convolution_biased = config.flag("use_conv_bias"),
                    .activation = config.activation("hidden_act"),
                    .norm_eps = norm_eps_of(draft)};
    if (out.inner > INT32_MAX / out.state_dim) config.fail("state_size", "so many channels are not supported");
    return out;
}

class Mixer {
  public:
    Mixer(Draft &draft, const DecoderGraph &decoder, Sizes sizes)
        : draft_(draft), decoder_(decoder), graph_(decoder.graph()), sizes_(std::move(sizes)) {}

    [[nodiscard]] Tensor operator()(const std::string &module, const Tensor &x, const Tensor &residual) const {
        const std::string values = module + ".in_values", gate = module + ".in_gate", of_step = module + ".in_step",
                          of_keys = module + ".in_keys";
        split(draft_, graph_, module + ".in_proj",
              {.inputs = graph_.channels(x),
               .parts = {{values, sizes_.inner}, {gate, sizes_.inner}},
               .biased = sizes_.biased});
        split(draft_, graph_, module + ".x_proj",
              {.inputs = sizes_.inner, .parts = {{of_step, sizes_.rank}, {of_keys, 2 * sizes_.state_dim}}});
        const Tensor convolved =
            convolution(module, graph_.linear(values, x, {.outputs = sizes_.inner, .biased = sizes_.biased}));
        const Tensor step = steps(module, product(of_step, convolved, sizes_.rank, 1)),
                     keys = product(of_keys, convolved, 2 * sizes_.state_dim, 2);
        const Tensor joined = graph_.layer(module + ".scanned", "concat", {{"a", convolved}, {"b", keys}});
        const Tensor read = graph_.layer(
            module + ".scan", "selective_scan",
            {{"x", joined}, {"step", step}, {"position", decoder_.position()}, {"lengths", decoder_.target_lengths()}},
            {{"heads", sizes_.inner}, {"state_dim", sizes_.state_dim}, {"rates", sizes_.state_dim}}, weights(module));
        const Tensor z = graph_.linear(gate, x, {.outputs = sizes_.inner, .biased = sizes_.biased});
        const Tensor gated =
            graph_.layer(module + ".gated", "activation", {{"x", z}, {"times", read}}, {{"activation", "silu"}});
        return graph_.linear(module + ".out_proj", gated, {.residual = residual, .biased = sizes_.biased});
    }

  private:
    Draft &draft_;
    const DecoderGraph &decoder_;
    GraphWriter &graph_;
    Sizes sizes_;

    // Normalized in `parts`, if the model does so.
    [[nodiscard]] Tensor product(const std::string &module, const Tensor &x, int64_t outputs, int64_t parts) const {
        const Tensor out = graph_.linear(module, x, {.outputs = outputs, .biased = false});
        if (!sizes_.norm_eps) return out;
        Json params{{"eps", *sizes_.norm_eps}};
        if (parts != 1) params["groups"] = parts;
        return graph_.layer(module + ".normed", "rms_norm", {{"x", out}}, params);
    }

    // The bias of this product is added by the scan.
    [[nodiscard]] Tensor steps(const std::string &module, const Tensor &x) const {
        const std::string name = module + ".dt_proj", own = module + ".steps";
        graph_.require(name + ".weight", {sizes_.inner, sizes_.rank});
        return graph_.linear(own, x, {.outputs = sizes_.inner, .biased = false, .weight = name + ".weight"});
    }

    [[nodiscard]] Tensor convolution(const std::string &module, const Tensor &x) const {
        const std::string stored = module + ".conv1d", name = module + ".conv";
        graph_.require(stored + ".weight",
                       draft_.gguf ? Shape{sizes_.inner, sizes_.kernel} : Shape{sizes_.inner, 1, sizes_.kernel});
        graph_.require(stored + ".bias", {sizes_.inner}, sizes_.convolution_biased);
        draft_.weights.add(name + ".weight",
                           draft_.weights.at(stored + ".weight").shaped({sizes_.inner, sizes_.kernel}));
        draft_.unused.insert(stored + ".weight");
        Json weights;
        if (sizes_.convolution_biased) weights["bias"] = stored + ".bias";
        return graph_.layer(name, "causal_conv1d",
                            {{"x", x}, {"position", decoder_.position()}, {"lengths", decoder_.target_lengths()}},
                            {{"activation", sizes_.activation}}, weights);
    }

    // A GGUF file has -exp(A_log).
    [[nodiscard]] Json weights(const std::string &module) const {
        const std::string stored = module + (draft_.gguf ? ".ssm_a" : ".A_log"), rate = module + ".log_rate",
                          offset = module + ".dt_proj.bias", skip = module + (draft_.gguf ? ".ssm_d" : ".D");
        const Shape rates{sizes_.inner, sizes_.state_dim};
        graph_.require(stored, rates);
        const model::Weight values = draft_.weights.at(stored).shaped({sizes_.inner * sizes_.state_dim});
        draft_.weights.add(rate, draft_.gguf ? logarithms(values) : values);
        draft_.unused.insert(stored);
        for (const std::string &name : {offset, skip}) graph_.require(name, {sizes_.inner});
        return {{"log_rate", rate}, {"offset", offset}, {"skip", skip}};
    }
};

Scan scan_of(const Draft &draft, int64_t width) {
    const Config &config = draft.config;
    const int64_t heads = config.positive("num_heads");
    Scan out{.heads = heads,
             .head_dim = draft.gguf ? scan_head_dim(config, heads) : config.positive("head_dim"),
             .groups = config.positive("n_groups"),
             .state_dim = config.positive("state_size"),
             .width = config.positive("conv_kernel"),
             .biased = config.flag("use_bias"),
             .convolution_biased = config.flag("use_conv_bias"),
             .activation = config.activation("hidden_act"),
             .eps = config.real("layer_norm_epsilon")};
    if (draft.gguf) config.ignore({"head_dim"}); // of attention, which no layer has
    out.limit_steps(config);
    out.check(config, "num_heads", "n_groups");
    if (!draft.gguf && width * config.positive("expand") != out.heads * out.head_dim)
        config.fail("expand",
                    "times hidden_size, expected num_heads * head_dim, " + std::to_string(out.heads * out.head_dim));
    return out;
}

template <class Mixer> void build(Draft &draft, const auto &sizes_of) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size"),
                  vocabulary = config.positive("vocab_size");
    const double eps = config.real("layer_norm_epsilon");
    if (config.states("layer_types"))
        config.fail("layer_types", "is not a key of such models, whose layers are all alike; leave it out");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const Mixer mixer(draft, decoder, sizes_of(draft, width));
    const std::string table = "backbone.embeddings";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "backbone.layers." + std::to_string(i);
        x = mixer(layer + ".mixer", graph.rms_norm(layer + ".norm", x, {.eps = eps}), x);
    }
    decoder.add_outputs(graph.rms_norm("backbone.norm_f", x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = table + ".weight"});
}

void build_mamba(Draft &draft) { build<Mixer>(draft, sizes_of); }
void build_mamba2(Draft &draft) { build<ScanLayer>(draft, scan_of); }

constexpr std::array<TensorName, 7> tensors{{
    {"token_embd", "backbone.embeddings"},
    {"output_norm", "backbone.norm_f"},
    {"blk.{i}.attn_norm", "backbone.layers.{i}.norm"},
    {"blk.{i}.ssm_in", "backbone.layers.{i}.mixer.in_proj"},
    {"blk.{i}.ssm_conv1d", "backbone.layers.{i}.mixer.conv1d"},
    {"blk.{i}.ssm_out", "backbone.layers.{i}.mixer.out_proj"},
    {"blk.{i}", "backbone.layers.{i}.mixer"}, // ssm_a and ssm_d, which have no other part
}};
constexpr auto mamba_tensors = joined(tensors, std::array<TensorName, 2>{{
                                                   {"blk.{i}.ssm_x", "backbone.layers.{i}.mixer.x_proj"},
                                                   {"blk.{i}.ssm_dt", "backbone.layers.{i}.mixer.dt_proj"},
                                               }});
constexpr auto mamba2_tensors = joined(tensors, std::array<TensorName, 2>{{
                                                    {"blk.{i}.ssm_dt", "backbone.layers.{i}.mixer.dt"},
                                                    {"blk.{i}.ssm_norm", "backbone.layers.{i}.mixer.norm"},
                                                }});
constexpr std::array<SettingName, 4> settings{{
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
    {"ssm.conv_kernel", "conv_kernel"},
    {"ssm.inner_size", "inner_size"},
    {"ssm.state_size", "state_size"},
}};
constexpr auto mamba_settings = joined(settings, std::array<SettingName, 2>{{
                                                     {"ssm.dt_b_c_rms", "normalizes"},
                                                     {"ssm.time_step_rank", "time_step_rank"},
                                                 }});
constexpr auto mamba2_settings = joined(settings, std::array<SettingName, 2>{{
                                                      {"ssm.group_count", "n_groups"},
                                                      {"ssm.time_step_rank", "num_heads"},
                                                  }});

} // namespace

namespace families {

std::span<const Architecture> mamba() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"falcon_mamba", build_mamba, {}, "backbone"},
        {"mamba", build_mamba, {"mamba", mamba_tensors, mamba_settings}, "backbone"},
        {"mamba2", build_mamba2, {"mamba2", mamba2_tensors, mamba2_settings}, "backbone"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
