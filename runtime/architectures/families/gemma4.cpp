// Gemma 4 (Google, huggingface.co/google/gemma-4-E2B-it): layers with a window and others have heads of
// different sizes, the last ones take the keys and values of earlier ones, and each layer may have an embedding of the
// token of its own, and experts.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/gemma4_gguf.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/mixture.hpp"
#include "architectures/rotary.hpp"
#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr size_t kinds_of_layers = 2; // with a window, and without
enum Kind : size_t { sliding, full };

// The heads of one kind of layers.
struct Heads {
    int64_t kv_heads, head_dim;
};

// By settings of layers, which transformers 5 writes, or by those for all with full attention.
std::array<Heads, kinds_of_layers> heads_of(const Config &config, const std::vector<Kind> &kinds) {
    const Heads usual{config.positive("num_key_value_heads"), config.positive("head_dim")};
    std::array<Heads, kinds_of_layers> out{usual, usual};
    if (config.is_null("per_layer_config"))
        config.fail("per_layer_config", "expected an object; leave the key out instead");
    const auto given = config.find("per_layer_config");
    if (!given) {
        out[full].head_dim = config.integer("global_head_dim", 512);
        if (out[full].head_dim == 0) config.fail("global_head_dim", "expected a number above 0");
        if (config.flag("attention_k_eq_v") && config.find("num_global_key_value_heads"))
            out[full].kv_heads = config.positive("num_global_key_value_heads");
        config.ignore({"num_global_key_value_heads"});
        return out;
    }
    config.ignore({"global_head_dim", "num_global_key_value_heads"});
    std::array<bool, kinds_of_layers> known{};
    for (size_t i = 0; i < kinds.size(); ++i) {
        Heads found = usual;
        if (const std::string name = std::to_string(i); given->has(name)) {
            const JsonView layer = given->at(name);
            layer.allow_keys({"head_dim", "num_key_value_heads"});
            if (layer.has("head_dim")) found.head_dim = layer.at("head_dim").integer(1, INT32_MAX);
            if (layer.has("num_key_value_heads"))
                found.kv_heads = layer.at("num_key_value_heads").integer(1, INT32_MAX);
        }
        Heads &of_kind = out.at(kinds[i]);
        if (known.at(kinds[i]) && (of_kind.kv_heads != found.kv_heads || of_kind.head_dim != found.head_dim))
            config.fail("per_layer_config", "expected the same heads in all layers of a kind");
        of_kind = found, known.at(kinds[i]) = true;
    }
    return out;
}

std::vector<Kind> kinds_of(const Config &config, int64_t layers) {
    const std::vector<std::string> types = config.layer_types(layers);
    std::vector<Kind> out;
    for (int64_t i = 0; i < layers; ++i) {
        const bool slides = types.empty() ? (i + 1) % 6 != 0 : types[static_cast<size_t>(i)] == "sliding_attention";
        out.push_back(slides ? sliding : full);
    }
    out.back() = full; // as transformers makes it, whatever the file says
    return out;
}

class Layers {
  public:
    explicit Layers(Draft &draft)
        : draft_(draft), config_(draft.config), count_(config_.layers("num_hidden_layers")),
          width_(config_.positive("hidden_size")), vocabulary_(config_.positive("vocab_size")),
          heads_(config_.positive("num_attention_heads")), hidden_(config_.positive("intermediate_size")),
          own_(config_.integer("hidden_size_per_layer_input")), shared_(config_.integer("num_kv_shared_layers")),
          eps_(config_.real("rms_norm_eps")), biased_(config_.flag("attention_bias")),
          keys_are_values_(config_.flag("attention_k_eq_v")), wide_(config_.flag("use_double_wide_mlp")),
          activation_(config_.activation("hidden_activation")), kinds_(kinds_of(config_, count_)),
          sizes_(heads_of(config_, kinds_)), decoder_(draft), graph_(decoder_.graph()) {
        for (const auto &[kind, name] : {std::pair{sliding, "sliding"}, {full, "full"}}) {
            const std::string frequencies = std::string("model.rotary.") + name, key = std::string(name) + "_attention";
            expect_rotary(key);
            rotary_.emplace_back(draft, frequencies, rotary(draft, sizes_.at(kind).head_dim, {.layers = key}), false);
            if (std::ranges::find(kinds_, kind) == kinds_.end()) draft.unused.insert(frequencies);
            if (heads_ % sizes_.at(kind).kv_heads != 0)
                config_.fail("num_attention_heads", "expected a multiple of the key and value heads, " +
                                                        std::to_string(sizes_.at(kind).kv_heads));
        }
        window_ = config_.positive("sliding_window");
        if (own_ == 0) config_.ignore({"vocab_size_per_layer_input"});
        if (const auto both = config_.find("use_bidirectional_attention"); both && both->string() != "vision")
            config_.fail("use_bidirectional_attention", "expected null or \"vision\"");
        if (config_.states("rope_scaling"))
            config_.fail("rope_scaling", "is not supported for this model_type; expected rope_parameters alone");
        for (Kind kind : kinds_)
            if (shared_ != 0 && std::find(kinds_.begin(), kinds_.end() - std::min(shared_, count_), kind) ==
                                    kinds_.end() - std::min(shared_, count_))
                config_.fail("num_kv_shared_layers", "expected a layer of each kind before those that share its keys");
        if (config_.flag("enable_moe_block")) {
            mixture_.emplace(draft, mixture_kind, Json(), std::vector<bool>(static_cast<size_t>(count_), true));
        } else {
            config_.ignore({"moe_intermediate_size", "num_experts", "top_k_experts"});
        }
    }

    void build() {
        if (draft_.gguf) rename_gemma4(draft_, count_);
        const std::string table = "model.embed_tokens";
        Tensor x =
            decoder_.embedded(table, {.rows = vocabulary_, .channels = width_, .scale = root(width_)}, words_scaled);
        const Tensor of_tokens = own_ != 0 ? embeddings_of_layers(x) : "";
        for (int64_t i = 0; i < count_; ++i) {
            const std::string layer = "model.layers." + std::to_string(i);
            x = norm(layer + ".post_attention_layernorm", attention(layer, i, norm(layer + ".input_layernorm", x)), x);
            x = norm(layer + ".post_feedforward_layernorm", fed(layer, i, x), x);
            if (own_ != 0) x = with_token(layer, i, x, of_tokens);
            const std::string scalar = layer + ".layer_scalar";
            if (!draft_.gguf || draft_.weights.entries().contains(scalar)) x = scaled_by(scalar, layer + ".scaled", x);
        }
        decoder_.add_outputs(norm("model.norm", x), {.vocabulary = vocabulary_,
                                                     .table = table + ".weight",
                                                     .softcap = config_.real("final_logit_softcapping", 0)});
    }

  private:
    static constexpr bool words_scaled = true; // embeddings of words are, and what images show is not
    static constexpr MixtureKind mixture_kind{.block = "",
                                              .router = "router.proj",
                                              .chosen = "top_k_experts",
                                              .activation = "hidden_activation",
                                              .inputs = "experts.gate_up_proj",
                                              .outputs = "experts.down_proj",
                                              .factors = "router.per_expert_scale"};

    Draft &draft_;
    const Config &config_;
    int64_t count_, width_, vocabulary_, heads_, hidden_, own_, shared_, window_ = 0;
    double eps_;
    bool biased_, keys_are_values_, wide_;
    std::string activation_;
    std::vector<Kind> kinds_;
    std::array<Heads, kinds_of_layers> sizes_;
    DecoderGraph decoder_;
    GraphWriter &graph_;
    std::vector<RotaryLayer> rotary_; // of each kind
    std::optional<Mixture> mixture_;
    std::array<std::pair<Tensor, Tensor>, kinds_of_layers>
        stored_; // keys and values of the last layer that has its own

    static double root(int64_t n) { return std::sqrt(static_cast<double>(n)); }

    void expect_rotary(const std::string &layers) const {
        const auto given = config_.find("rope_parameters");
        if (!given || !given->has(layers) || !given->at(layers).has("rope_theta"))
            config_.fail("rope_parameters",
                         "expected settings for " + layers + " with a rope_theta, as published files have them");
    }

    [[nodiscard]] Tensor norm(const std::string &module, const Tensor &x, const Tensor &residual = {}) const {
        return graph_.rms_norm(module, x, {.eps = eps_, .residual = residual});
    }
    [[nodiscard]] Tensor head_norm(const std::string &module, const Tensor &x, int64_t heads) const {
        return graph_.rms_norm(module, x, {.eps = eps_, .groups = heads});
    }
    // Without a weight.
    [[nodiscard]] Tensor plain_norm(const std::string &name, const Tensor &x, int64_t groups) const {
        Json params{{"eps", eps_}};
        if (groups != 1) params["groups"] = groups;
        return graph_.layer(name, "rms_norm", {{"x", x}}, params);
    }
    // Times the single value of a tensor.
    [[nodiscard]] Tensor scaled_by(const std::string &tensor, const std::string &name, const Tensor &x) const {
        graph_.require(tensor, {1});
        draft_.unused.insert(tensor);
        const float factor = numbers_of(draft_.weights.at(tensor)).front();
        return graph_.layer(name, "activation", {{"x", x}}, {{"activation", "none"}, {"factor", factor}});
    }

    [[nodiscard]] bool shares(int64_t layer) const { return layer >= count_ - shared_; }

    [[nodiscard]] Tensor attention(const std::string &layer, int64_t i, const Tensor &x) {
        const std::string self = layer + ".self_attn";
        const Kind kind = kinds_[static_cast<size_t>(i)];
        const int64_t kv_heads = sizes_.at(kind).kv_heads, head_dim = sizes_.at(kind).head_dim;
        const auto turned = [&](const std::string &name, const Tensor &rows, int64_t heads) {
            return rotary_[kind](graph_, self + name + "_rotary", head_norm(self + name + "_norm", rows, heads), heads,
                                 decoder_.position());
        };
        const auto projected = [&](const std::string &name, int64_t heads) {
            return graph_.linear(self + name, x, {.outputs = heads * head_dim, .biased = biased_});
        };
        split_if_fused(draft_, graph_, self + ".qkv_proj",
                       {.inputs = width_,
                        .parts = {{self + ".q_proj", heads_ * head_dim},
                                  {self + ".k_proj", kv_heads * head_dim},
                                  {self + ".v_proj", kv_heads * head_dim}}});
        const Tensor q = turned(".q", projected(".q_proj", heads_), heads_);
        if (!shares(i)) {
            const Tensor k = projected(".k_proj", kv_heads);
            const Tensor v = keys_are_values_ && kind == full ? k : projected(".v_proj", kv_heads);
            stored_.at(kind) = {turned(".k", k, kv_heads), plain_norm(self + ".v_norm", v, kv_heads)};
        } else { // transformers leaves those out that a file may have
            for (const char *name :
                 {".k_proj.weight", ".k_proj.bias", ".v_proj.weight", ".v_proj.bias", ".k_norm.weight"})
                draft_.unused.insert(self + name);
        }
        const auto &[k, v] = stored_.at(kind);
        const Tensor attended = graph_.attention(self + ".heads", q, k, v,
                                                 {.heads = heads_,
                                                  .kv_heads = kv_heads,
                                                  .causal = true,
                                                  .scale = 1,
                                                  .window = kind == sliding ? window_ : 0,
                                                  .position = decoder_.position(),
                                                  .ahead = kind == sliding ? decoder_.ahead() : "",
                                                  .key_lengths = decoder_.lengths()});
        return graph_.linear(self + ".o_proj", attended, {.outputs = width_, .biased = biased_});
    }

    // A feed-forward layer, and beside it experts.
    [[nodiscard]] Tensor fed(const std::string &layer, int64_t i, const Tensor &x) const {
        Tensor out = graph_.feed_forward(layer + ".mlp", norm(layer + ".pre_feedforward_layernorm", x),
                                         {.hidden = hidden_ * (wide_ && shares(i) ? 2 : 1),
                                          .activation = activation_,
                                          .gate = "gate_proj",
                                          .biased = false});
        if (!mixture_) return out;
        out = norm(layer + ".post_feedforward_layernorm_1", out);
        // What the router sees is normalized, and scaled channel by channel and by 1 / sqrt(channels).
        const std::string scale = layer + ".router.scale", factors = layer + ".router.norm.weight";
        graph_.require(scale, {width_});
        draft_.weights.add(factors, scaled(draft_.weights.at(scale), 1 / root(width_)));
        draft_.unused.insert(scale);
        const Tensor seen = norm(layer + ".router.norm", x);
        const Tensor mixed = (*mixture_)(layer, graph_, norm(layer + ".pre_feedforward_layernorm_2", x), "", seen);
        return norm(layer + ".post_feedforward_layernorm_2", mixed, out);
    }

    // Of each token one for every layer, side by side: from a table of their own, and from the usual embedding; times
    // sqrt(2). The product is 1 / sqrt(width) of what it is here, which a norm only sees in its epsilon.
    [[nodiscard]] Tensor embeddings_of_layers(const Tensor &x) const {
        const int64_t channels = count_ * own_;
        const Tensor made =
            graph_.linear("model.per_layer_model_projection", x, {.outputs = channels, .biased = false});
        const Tensor normed = graph_.rms_norm("model.per_layer_projection_norm", made,
                                              {.eps = eps_ * static_cast<double>(width_), .groups = count_});
        return graph_.embedding("model.embed_tokens_per_layer", decoder_.ids(),
                                {.rows = config_.positive("vocab_size_per_layer_input"),
                                 .channels = channels,
                                 .scale = root(own_),
                                 .residual = normed});
    }
    // Adds what a gate lets through of the layer's embedding of the token.
    [[nodiscard]] Tensor with_token(const std::string &layer, int64_t i, const Tensor &x,
                                    const Tensor &of_tokens) const {
        const Tensor own =
            graph_.layer(layer + ".token", "slice", {{"x", of_tokens}}, {{"first", i * own_}, {"count", own_}});
        graph_.set_channels(own, own_);
        const Tensor gate = graph_.linear(layer + ".per_layer_input_gate", x, {.outputs = own_, .biased = false});
        const Tensor open = graph_.layer(layer + ".gated_token", "activation", {{"x", gate}, {"times", own}},
                                         {{"activation", activation_}, {"factor", 1 / std::sqrt(2.0)}});
        const Tensor added = graph_.linear(layer + ".per_layer_projection", open, {.outputs = width_, .biased = false});
        return norm(layer + ".post_per_layer_input_norm", added, x);
    }
};

// Of a file with images and sound; what is not for texts gets a name outside of the base model.
constexpr std::array<Renaming, 5> of_texts{{
    {"model.language_model.", "model."},
    {"model.vision_tower.", "vision_tower."},
    {"model.embed_vision.", "embed_vision."},
    {"model.audio_tower.", "audio_tower."},
    {"model.embed_audio.", "embed_audio."},
}};

} // namespace

namespace families {

std::span<const Architecture> gemma4() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"gemma4_text",
         [](Draft &draft) { Layers(draft).build(); },
         {.architecture = "gemma4",
          .tensors = gemma4_tensors,
          .settings = gemma4_settings,
          .flags = gemma4_flags,
          .complete = complete_gemma4},
         "model",
         of_texts},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
