// Qwen3-Next, and what continues texts in Qwen3.5 and 3.6 (Qwen Team, 2025 and 2026): most layers have a memory of
// fixed size, which the gated delta rule changes token by token (Yang, Kautz, Hatamizadeh, arXiv:2412.06464); every
// fourth one has attention, whose results a gate multiplies.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/mixture.hpp"
#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Kind {
    bool interleaved = false; // projections of a layer with a memory are one matrix, in which key heads take turns
    bool tiled_in_gguf = false;
    bool sees = false; // there are models of it that see
    const MixtureKind *mixture = nullptr;
};

// Which layers have attention. `all`: with those at the end that draft.
std::vector<bool> layers_with_attention(const Config &config, size_t layers, size_t all) {
    std::vector<bool> out(layers);
    const std::vector<std::string> types = config.texts("layer_types");
    if (types.empty()) {
        const auto interval = static_cast<size_t>(config.positive("full_attention_interval"));
        for (size_t i = 0; i < layers; ++i) out[i] = (i + 1) % interval == 0;
        return out;
    }
    config.ignore({"full_attention_interval"});
    if (types.size() != all)
        config.fail("layer_types", "expected " + std::to_string(all) + " entries, one for each layer, found " +
                                       std::to_string(types.size()));
    for (size_t i = 0; i < layers; ++i) {
        if (types[i] != "full_attention" && types[i] != "linear_attention")
            config.fail("layer_types", "expected full_attention or linear_attention, found \"" + types[i] + "\"");
        out[i] = types[i] == "full_attention";
    }
    return out;
}

// A layer with a memory.
class Memory {
  public:
    Memory(Draft &draft, const DecoderGraph &decoder, const Kind &kind)
        : draft_(draft), decoder_(decoder), graph_(decoder.graph()), kind_(kind),
          heads_(draft.config.positive("linear_num_value_heads")),
          key_heads_(draft.config.positive("linear_num_key_heads")),
          key_dim_(draft.config.positive("linear_key_head_dim")), value_dim_(of_values(draft, heads_)),
          width_(draft.config.positive("linear_conv_kernel_dim")), eps_(draft.config.real("rms_norm_eps")),
          activation_(draft.config.activation("hidden_act")) {
        constexpr int64_t most = INT32_MAX; // channels
        if (heads_ % key_heads_ != 0)
            draft.config.fail("linear_num_value_heads", "expected a multiple of linear_num_key_heads, " +
                                                            std::to_string(key_heads_) + ", found " +
                                                            std::to_string(heads_));
        if (key_heads_ > most / key_dim_ || heads_ > most / value_dim_)
            draft.config.fail("linear_key_head_dim", "heads of so many channels are not supported");
    }

    [[nodiscard]] Tensor operator()(const std::string &module, const Tensor &x, const Tensor &residual) const {
        const int64_t keys = key_heads_ * key_dim_, values = heads_ * value_dim_;
        if (kind_.interleaved) take_apart(module, graph_.channels(x));
        const auto projected = [&](const char *name, int64_t outputs) {
            return graph_.linear(module + name, x, {.outputs = outputs, .biased = false});
        };
        const Tensor qkv = convolved(module, projected(".in_proj_qkv", 2 * keys + values)),
                     gate = projected(".in_proj_z", values);
        Json params{{"heads", heads_}, {"key_heads", key_heads_}, {"key_dim", key_dim_}};
        if (draft_.gguf && kind_.tiled_in_gguf) params["tiled"] = true;
        const auto [rate, offset] = gate_weights(module);
        const Tensor recalled = graph_.layer(module + ".memory", "gated_delta_rule",
                                             {{"x", qkv},
                                              {"fading", projected(".in_proj_a", heads_)},
                                              {"writing", projected(".in_proj_b", heads_)},
                                              {"position", decoder_.position()},
                                              {"lengths", decoder_.target_lengths()}},
                                             params, {{"log_rate", rate}, {"offset", offset}});
        graph_.set_channels(recalled, values);
        const Tensor normed = graph_.rms_norm(module + ".norm", recalled, {.eps = eps_, .groups = heads_});
        const Tensor gated =
            graph_.layer(module + ".gated", "activation", {{"x", gate}, {"times", normed}}, {{"activation", "silu"}});
        return graph_.linear(module + ".out_proj", gated,
                             {.outputs = graph_.channels(residual), .residual = residual, .biased = false});
    }

  private:
    Draft &draft_;
    const DecoderGraph &decoder_;
    GraphWriter &graph_;
    const Kind &kind_;
    int64_t heads_, key_heads_, key_dim_, value_dim_, width_;
    double eps_;
    std::string activation_;

    // A GGUF file has the channels of all heads together.
    static int64_t of_values(const Draft &draft, int64_t heads) {
        if (!draft.gguf) return draft.config.positive("linear_value_head_dim");
        const int64_t all = draft.config.positive("linear_inner_size");
        if (all % heads != 0)
            draft.config.fail("linear_inner_size", "expected a multiple of linear_num_value_heads, " +
                                                       std::to_string(heads) + ", found " + std::to_string(all));
        return all / heads;
    }

    void take_apart(const std::string &module, int64_t inputs) const {
        const int64_t keys = key_heads_ * key_dim_, values = heads_ * value_dim_;
        if (!draft_.gguf) // its converter has taken this one apart
            split_by_heads(draft_, graph_, module + ".in_proj_qkvz",
                           {.inputs = inputs,
                            .parts = {{module + ".in_proj_qkv", keys},
                                      {module + ".in_proj_qkv", keys},
                                      {module + ".in_proj_qkv", values},
                                      {module + ".in_proj_z", values}}},
                           key_heads_);
        split_by_heads(draft_, graph_, module + ".in_proj_ba",
                       {.inputs = inputs, .parts = {{module + ".in_proj_b", heads_}, {module + ".in_proj_a", heads_}}},
                       key_heads_);
    }

    [[nodiscard]] Tensor convolved(const std::string &module, const Tensor &x) const {
        const std::string stored = module + ".conv1d.weight", name = module + ".conv";
        const int64_t channels = graph_.channels(x);
        graph_.require(stored, draft_.gguf ? Shape{channels, width_} : Shape{channels, 1, width_});
        draft_.weights.add(name + ".weight", draft_.weights.at(stored).shaped({channels, width_}));
        draft_.unused.insert(stored);
        return graph_.layer(name, "causal_conv1d",
                            {{"x", x}, {"position", decoder_.position()}, {"lengths", decoder_.target_lengths()}},
                            {{"activation", activation_}});
    }

    // How fast memories fade. A GGUF file has -exp(A_log).
    [[nodiscard]] std::pair<std::string, std::string> gate_weights(const std::string &module) const {
        const std::string stored = module + (draft_.gguf ? ".ssm_a" : ".A_log"), rate = module + ".A_log",
                          offset = module + (draft_.gguf ? ".dt.bias" : ".dt_bias");
        graph_.require(stored, {heads_});
        graph_.require(offset, {heads_});
        if (draft_.gguf) {
            draft_.weights.add(rate, logarithms(draft_.weights.at(stored)));
            draft_.unused.insert(stored);
        }
        return {rate, offset};
    }
};

// GGUF files call the product of a layer with a memory like one of queries, keys and values.
void name_fused_heads(Draft &draft, const std::string &layer) {
    const std::string name = layer + ".linear_attn.in_proj_qkv";
    for (const std::string port : {".weight", ".bias"})
        if (const auto found = draft.weights.entries().find(name + port); found != draft.weights.entries().end()) {
            draft.weights.add(layer + ".self_attn.qkv_proj" + port, model::Weight(found->second));
            draft.unused.insert(name + port);
        }
}

void build(Draft &draft, const Kind &kind) {
    const Config &config = draft.config;
    const int64_t all = config.layers("num_hidden_layers"), layers = layers_without_drafts(draft);
    const int64_t width = config.positive("hidden_size"), heads = config.positive("num_attention_heads"),
                  kv_heads = config.positive("num_key_value_heads"), head_dim = config.positive("head_dim");
    const std::string activation = config.activation("hidden_act");
    const bool biased = config.flag("attention_bias");
    const std::vector<bool> attends =
        layers_with_attention(config, static_cast<size_t>(layers), static_cast<size_t>(all));
    const double eps = config.real("rms_norm_eps"), offset = draft.gguf ? 0 : 1; // a GGUF file has it added
    const int64_t vocabulary = config.positive("vocab_size"),
                  hidden = config.reads("intermediate_size") ? config.positive("intermediate_size") : 0;

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    RotaryKind positions{.part = 0.25, .axes = true};
    if (kind.sees && (draft.images || !draft.gguf)) positions.turns = {11, 11, 10};
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, head_dim, positions), false);
    if (std::ranges::find(attends, true) == attends.end()) draft.unused.insert("model.rotary.frequencies");
    const auto norm = [&](const std::string &module, const Tensor &x, int64_t groups) {
        return graph.rms_norm(module, x, {.eps = eps, .weight_offset = offset, .groups = groups});
    };
    const Memory memory(draft, decoder, kind);
    std::optional<Mixture> mixture;
    if (kind.mixture != nullptr) mixture.emplace(draft, *kind.mixture);
    const std::string table = "model.embed_tokens";
    Tensor x = decoder.embedded(table, {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), mlp = layer + ".mlp";
        if (draft.gguf && attends[static_cast<size_t>(i)]) name_fused_heads(draft, layer);
        const Tensor normed = norm(layer + ".input_layernorm", x, 1);
        x = attends[static_cast<size_t>(i)] ? decoder.self_attention(layer + ".self_attn", normed,
                                                                     {.heads = {heads, kv_heads, head_dim},
                                                                      .biased = biased,
                                                                      .out_biased = biased,
                                                                      .gated = true,
                                                                      .norm = norm,
                                                                      .rotary = &rotary_layer,
                                                                      .residual = x})
                                            : memory(layer + ".linear_attn", normed, x);
        const Tensor between = norm(layer + ".post_attention_layernorm", x, 1);
        if (mixture && mixture->is_in(i))
            x = (*mixture)(layer, graph, between, x);
        else
            x = graph.feed_forward(
                mlp, between,
                {.hidden = hidden, .activation = activation, .gate = "gate_proj", .residual = x, .biased = false});
    }
    decoder.add_outputs(norm("model.norm", x, 1), {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 11> tensors{{
    {"blk.{i}.attn_qkv", "model.layers.{i}.linear_attn.in_proj_qkv"},
    {"blk.{i}.attn_gate", "model.layers.{i}.linear_attn.in_proj_z"},
    {"blk.{i}.ssm_alpha", "model.layers.{i}.linear_attn.in_proj_a"},
    {"blk.{i}.ssm_beta", "model.layers.{i}.linear_attn.in_proj_b"},
    {"blk.{i}.ssm_ba", "model.layers.{i}.linear_attn.in_proj_ba"},
    {"blk.{i}.ssm_conv1d", "model.layers.{i}.linear_attn.conv1d"},
    {"blk.{i}.ssm_dt", "model.layers.{i}.linear_attn.dt"},
    {"blk.{i}.ssm_norm", "model.layers.{i}.linear_attn.norm"},
    {"blk.{i}.ssm_out", "model.layers.{i}.linear_attn.out_proj"},
    {"blk.{i}", "model.layers.{i}.linear_attn"}, // ssm_a, which has no other part
    {"blk.{i}.post_attention_norm", "model.layers.{i}.post_attention_layernorm"},
}};
constexpr std::array<SettingName, 11> settings{{
    {"expert_count", "num_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_used_count", "num_experts_per_tok"},
    {"full_attention_interval", "full_attention_interval"},
    {"nextn_predict_layers", "nextn_predict_layers"},
    {"ssm.conv_kernel", "linear_conv_kernel_dim"},
    {"ssm.group_count", "linear_num_key_heads"},
    {"ssm.inner_size", "linear_inner_size"},
    {"ssm.state_size", "linear_key_head_dim"},
    {"ssm.time_step_rank", "linear_num_value_heads"},
}};

// Of a file with images, the part for texts; what reads images gets a name outside of the base model.
constexpr std::array<Renaming, 2> renamed{{{"model.language_model.", "model."}, {"model.visual.", "visual."}}};

constexpr MixtureKind routed{
    .inputs = "experts.gate_up_proj", .outputs = "experts.down_proj", .or_single = true, .shared = true};

} // namespace

namespace families {

std::span<const Architecture> qwen3_next() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"qwen3_5_moe_text",
         [](Draft &draft) { build(draft, {.tiled_in_gguf = true, .sees = true, .mixture = &routed}); },
         {"qwen35moe", tensors, settings},
         "model",
         renamed},
        {"qwen3_5_text",
         [](Draft &draft) { build(draft, {.tiled_in_gguf = true, .sees = true}); },
         {"qwen35", tensors, settings},
         "model",
         renamed},
        {"qwen3_next",
         [](Draft &draft) { build(draft, {.interleaved = true, .mixture = &routed}); },
         {"qwen3next", tensors, settings},
         "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
