// Nemotron-H (NVIDIA, arXiv:2504.03624) and Nemotron 3: each layer is one of a state, as in Mamba-2, attention, a
// feed-forward layer, or a mixture of plain experts.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/scan_layer.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

enum class Kind { state, attention, feed_forward, experts };

// Flags for layers, as a GGUF file has them; empty: none is given.
std::vector<bool> flags_of(const Config &config, const char *key, int64_t layers) {
    std::vector<bool> out;
    const auto given = config.find(key);
    if (!given) return out;
    for (const JsonView flag : given->items()) out.push_back(flag.boolean());
    if (static_cast<int64_t>(out.size()) != layers)
        config.fail(key, "expected " + std::to_string(layers) + " entries, one for each layer, found " +
                             std::to_string(out.size()));
    return out;
}

Kind kind_of(const Config &config, const char *key, const std::string &name) {
    if (name == "linear_attention" || name == "mamba") return Kind::state;
    if (name == "full_attention" || name == "attention") return Kind::attention;
    if (name == "mlp") return Kind::feed_forward;
    if (name == "moe") return Kind::experts;
    config.fail(key, in_quotes(name) + " is not supported");
}

// The key that older files have for `key`, if this one has it.
const char *name_of(const Config &config, const char *older, const char *key) {
    if (!config.has(older)) return key;
    config.ignore({key});
    return older;
}

// "layers_block_type", or a letter for each layer.
std::vector<Kind> kinds_of(const Config &config, bool of_gguf) {
    std::vector<Kind> out;
    if (of_gguf) {
        const int64_t layers = config.layers("num_hidden_layers");
        const std::vector<bool> attend = flags_of(config, "attention_layers", layers),
                                feed = flags_of(config, "feed_forward_layers", layers);
        if (attend.empty() || feed.empty())
            config.fail("num_hidden_layers",
                        "the heads of keys and the feed-forward channels of each layer must be given");
        for (size_t i = 0; i < attend.size(); ++i)
            out.push_back(attend[i] ? Kind::attention : feed[i] ? Kind::feed_forward : Kind::state);
        return out;
    }
    constexpr const char *types = "layers_block_type", *pattern = "hybrid_override_pattern";
    if (config.has(types)) {
        config.ignore({pattern});
        for (const std::string &name : config.texts(types)) out.push_back(kind_of(config, types, name));
    } else {
        if (!config.has(pattern)) config.fail(types, "is missing");
        constexpr std::string_view letters = "M*-E";
        for (const char letter : config.text(pattern)) {
            const size_t at = letters.find(letter);
            if (at == std::string_view::npos)
                config.fail(pattern,
                            "expected M, *, - or E for each layer, found " + in_quotes(std::string(1, letter)));
            out.push_back(static_cast<Kind>(at));
        }
    }
    constexpr size_t most = 10'000;
    if (out.empty() || out.size() > most) config.fail(types, "expected from 1 to 10000 layers");
    return out;
}

// The mixtures of Nemotron 3: plain experts, whose choice has a bias, and one more for every token.
class Experts {
  public:
    Experts(Draft &draft, std::string activation)
        : draft_(draft), activation_(std::move(activation)), experts_(draft.config.positive("n_routed_experts")),
          hidden_(draft.config.positive("moe_intermediate_size")),
          shared_(draft.config.positive("moe_shared_expert_intermediate_size")),
          latent_(draft.config.optional_integer("moe_latent_size").value_or(0)) {
        const Config &config = draft.config;
        const int64_t chosen = config.positive("num_experts_per_tok"), groups = config.positive("n_group"),
                      kept = config.positive("topk_group");
        if (chosen > experts_)
            config.fail("num_experts_per_tok", "expected at most the " + std::to_string(experts_) + " experts");
        if (experts_ % groups != 0 || experts_ / groups < 2)
            config.fail("n_group", "expected groups of the same size, with two experts or more");
        if (kept > groups) config.fail("topk_group", "expected at most the " + std::to_string(groups) + " groups");
        options_ = {.experts = experts_,
                    .chosen = chosen,
                    .hidden = hidden_,
                    .activation = activation_,
                    .choice = {{"scoring", "sigmoid"}, {"scale", config.real("routed_scaling_factor")}},
                    .gated = false};
        if (!config.flag("norm_topk_prob")) options_.choice["normalize"] = false;
        if (groups == 1) return;
        options_.choice["groups"] = groups, options_.choice["kept_groups"] = kept;
        options_.choice["group_score"] = "two_best";
    }

    [[nodiscard]] Tensor operator()(GraphWriter &graph, const std::string &module, const Tensor &x,
                                    const Tensor &residual) const {
        const int64_t width = graph.channels(x), inner = latent_ != 0 ? latent_ : width;
        GraphWriter::Mixture options = options_;
        options.router_bias = module + ".gate.bias_of_choice.bias";
        const std::string stored = module + (draft_.gguf ? ".exp_probs_b.bias" : ".gate.e_score_correction_bias");
        graph.require(stored, {experts_});
        draft_.weights.add(options.router_bias, draft_.weights.at(stored));
        draft_.unused.insert(stored);
        if (!draft_.gguf) stack_experts(graph, module, inner);
        const bool biased = draft_.config.flag("mlp_bias");
        Tensor out = residual;
        if (latent_ == 0) {
            options.residual = residual;
            out = graph.mixture(module, module + ".experts", x, options);
        } else {
            options.scored = x;
            const Tensor narrow = graph.linear(module + ".fc1_latent_proj", x, {.outputs = latent_, .biased = biased});
            const Tensor mixed = graph.mixture(module, module + ".experts", narrow, options);
            graph.set_channels(mixed, latent_);
            out = graph.linear(module + ".fc2_latent_proj", mixed,
                               {.outputs = width, .residual = residual, .biased = biased});
        }
        return graph.feed_forward(module + ".shared_experts", x,
                                  {.hidden = shared_, .activation = activation_, .residual = out, .biased = biased});
    }

  private:
    Draft &draft_;
    std::string activation_;
    int64_t experts_, hidden_, shared_, latent_;
    GraphWriter::Mixture options_{};

    // A folder has them one by one.
    void stack_experts(GraphWriter &graph, const std::string &module, int64_t inner) const {
        for (const auto &[part, rows, cols] :
             {std::tuple{".up_proj", hidden_, inner}, std::tuple{".down_proj", inner, hidden_}}) {
            std::vector<std::string> tensors;
            for (int64_t e = 0; e < experts_; ++e) {
                tensors.push_back(module + ".experts." + std::to_string(e) + part + ".weight");
                graph.require(tensors.back(), {rows, cols}); // before there are as many as config.json says
            }
            stack(draft_, graph, module + ".experts" + part + ".weight", tensors, {rows, cols});
        }
    }
};

void build(Draft &draft) {
    const Config &config = draft.config;
    std::vector<Kind> kinds = kinds_of(config, draft.gguf);
    if (draft.gguf) kinds.resize(static_cast<size_t>(layers_without_drafts(draft)));
    const int64_t width = config.positive("hidden_size"), vocabulary = config.positive("vocab_size"),
                  attending = config.positive("num_attention_heads"), kv_heads = config.positive("num_key_value_heads"),
                  head_dim = config.positive("head_dim");
    const double eps = config.real("layer_norm_epsilon");
    const std::string activation = config.activation("mlp_hidden_act");
    const int64_t heads = config.positive("mamba_num_heads");
    Scan scan{.heads = heads,
              .head_dim = draft.gguf ? scan_head_dim(config, heads) : config.positive("mamba_head_dim"),
              .groups = config.positive(name_of(config, "mamba_n_groups", "n_groups")),
              .state_dim = config.positive("ssm_state_size"),
              .width = config.positive(name_of(config, "mamba_d_conv", "conv_kernel")),
              .biased = config.flag("use_bias"),
              .convolution_biased = config.flag(name_of(config, "mamba_conv_bias", "use_conv_bias")),
              .activation = config.activation("mamba_hidden_act"),
              .eps = eps};
    if (!draft.gguf) scan.min_step = config.real(name_of(config, "mamba_dt_min", "time_step_min"));
    if (!(scan.min_step >= 0)) config.fail("time_step_min", "expected a number from 0 on");
    scan.check(config, "mamba_num_heads", "n_groups");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const ScanLayer mixer(draft, decoder, scan);
    const bool mixes =
        draft.gguf ? config.has("num_experts_per_tok") : std::ranges::find(kinds, Kind::experts) != kinds.end();
    std::optional<Experts> experts;
    if (mixes)
        experts.emplace(draft, activation);
    else
        config.ignore({"moe_intermediate_size", "moe_latent_size", "moe_shared_expert_intermediate_size", "n_group",
                       "n_routed_experts", "norm_topk_prob", "num_experts_per_tok", "routed_scaling_factor",
                       "topk_group"});
    const int64_t hidden = config.positive("intermediate_size");
    const std::string table = "model.embeddings";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (size_t i = 0; i < kinds.size(); ++i) {
        const std::string layer = "model.layers." + std::to_string(i), module = layer + ".mixer";
        const Tensor normed = graph.rms_norm(layer + ".norm", x, {.eps = eps});
        if (kinds[i] == Kind::state)
            x = mixer(module, normed, x);
        else if (kinds[i] == Kind::attention)
            x = decoder.self_attention(module, normed, {.heads = {attending, kv_heads, head_dim}, .residual = x});
        else if (kinds[i] == Kind::experts || (draft.gguf && mixes)) // a file has no layer of the other kind then
            x = (*experts)(graph, module, normed, x);
        else
            x = graph.feed_forward(
                module, normed,
                {.hidden = hidden, .activation = activation, .residual = x, .biased = config.flag("mlp_bias")});
    }
    decoder.add_outputs(graph.rms_norm("model.norm_f", x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 24> tensors{{
    {"token_embd", "model.embeddings"},
    {"output_norm", "model.norm_f"},
    {"blk.{i}.attn_norm", "model.layers.{i}.norm"},
    {"blk.{i}.attn_q", "model.layers.{i}.mixer.q_proj"},
    {"blk.{i}.attn_k", "model.layers.{i}.mixer.k_proj"},
    {"blk.{i}.attn_v", "model.layers.{i}.mixer.v_proj"},
    {"blk.{i}.attn_qkv", "model.layers.{i}.mixer.qkv_proj"},
    {"blk.{i}.attn_output", "model.layers.{i}.mixer.o_proj"},
    {"blk.{i}.ssm_in", "model.layers.{i}.mixer.in_proj"},
    {"blk.{i}.ssm_conv1d", "model.layers.{i}.mixer.conv1d"},
    {"blk.{i}.ssm_dt", "model.layers.{i}.mixer.dt"},
    {"blk.{i}.ssm_norm", "model.layers.{i}.mixer.norm"},
    {"blk.{i}.ssm_out", "model.layers.{i}.mixer.out_proj"},
    {"blk.{i}", "model.layers.{i}.mixer"}, // ssm_a and ssm_d, which have no other part
    {"blk.{i}.exp_probs_b", "model.layers.{i}.mixer.exp_probs_b"},
    {"blk.{i}.ffn_gate_inp", "model.layers.{i}.mixer.gate"},
    {"blk.{i}.ffn_latent_down", "model.layers.{i}.mixer.fc1_latent_proj"},
    {"blk.{i}.ffn_latent_up", "model.layers.{i}.mixer.fc2_latent_proj"},
    {"blk.{i}.ffn_up_exps", "model.layers.{i}.mixer.experts.up_proj"},
    {"blk.{i}.ffn_down_exps", "model.layers.{i}.mixer.experts.down_proj"},
    {"blk.{i}.ffn_up_shexp", "model.layers.{i}.mixer.shared_experts.up_proj"},
    {"blk.{i}.ffn_down_shexp", "model.layers.{i}.mixer.shared_experts.down_proj"},
    {"blk.{i}.ffn_up", "model.layers.{i}.mixer.up_proj"},
    {"blk.{i}.ffn_down", "model.layers.{i}.mixer.down_proj"},
}};
constexpr std::array<SettingName, 17> settings{{
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"expert_count", "n_routed_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_weights_norm", "norm_topk_prob"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"moe_latent_size", "moe_latent_size"},
    {"nextn_predict_layers", "nextn_predict_layers"},
    {"ssm.conv_kernel", "conv_kernel"},
    {"ssm.group_count", "n_groups"},
    {"ssm.inner_size", "inner_size"},
    {"ssm.state_size", "ssm_state_size"},
    {"ssm.time_step_rank", "mamba_num_heads"},
}};
constexpr std::array<Renaming, 1> renamed{{{"backbone.", "model."}}};

} // namespace

namespace families {

std::span<const Architecture> nemotron_h() {
    static constexpr std::array<Architecture, 2> kinds{{
        {"nemotron_h", build, {"nemotron_h", tensors, settings}, "model", renamed},
        {"nemotron_h", build, {"nemotron_h_moe", tensors, settings}, "model", renamed},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
