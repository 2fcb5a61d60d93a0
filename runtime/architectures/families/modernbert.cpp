// ModernBERT (Warner et al., arXiv:2412.13663): rotary positions, gated feed-forward layers, and a window on both sides
// of a token in most layers.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/rotary.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr std::string_view base = "model";

class ModernBert {
  public:
    explicit ModernBert(Draft &draft)
        : draft_(draft), config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          layers_(config_.layers("num_hidden_layers")), width_(config_.positive("hidden_size")),
          heads_(config_.positive("num_attention_heads")), hidden_(config_.positive("intermediate_size")),
          activation_(config_.activation("hidden_activation")), eps_(config_.real("norm_eps")),
          norm_biased_(config_.flag("norm_bias")), attention_biased_(config_.flag("attention_bias")),
          mlp_biased_(config_.flag("mlp_bias")), slides_(sliding_layers()), window_(window()) {
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads", "expected a divisor of hidden_size, " + std::to_string(width_));
        if (draft.gguf) config_.expect("head_dim", static_cast<double>(width_ / heads_));
        config_.ignore_here("rope_theta"); // there is one for each kind of layers
        if (const auto parameters = config_.find("rope_parameters"))
            for (const JsonView kind : parameters->members())
                if (!kind.is_object()) kind.fail("expected an object, as in {\"rope_type\": \"default\"}");
        if (config_.has("rope_scaling"))
            config_.fail("rope_scaling", "is not supported for this model_type; write its settings into "
                                         "/rope_parameters/full_attention and /rope_parameters/sliding_attention");
    }

    void build() {
        const RotaryLayer full(draft_, "model.rotary.full", positions("full_attention", "global_rope_theta"), false);
        const RotaryLayer sliding(draft_, "model.rotary.sliding", positions("sliding_attention", "local_rope_theta"),
                                  false);
        if (std::ranges::find(slides_, false) == slides_.end()) draft_.unused.insert("model.rotary.full");
        if (std::ranges::find(slides_, true) == slides_.end()) draft_.unused.insert("model.rotary.sliding");
        const std::string table = "model.embeddings.tok_embeddings";
        Tensor x =
            norm("model.embeddings.norm",
                 graph_.embedding(table, encoder_.ids(), {.rows = config_.positive("vocab_size"), .channels = width_}));
        for (int64_t i = 0; i < layers_; ++i) x = layer(i, x, slides_[static_cast<size_t>(i)] ? sliding : full);
        const std::string head_activation = config_.activation("classifier_activation"),
                          pooling = config_.text("classifier_pooling");
        if (pooling != "cls" && pooling != "mean")
            config_.fail("classifier_pooling", "expected cls or mean, found " + pooling);
        const bool head_biased = config_.flag("classifier_bias"), scores_biased = config_.flag("decoder_bias");
        const auto transform = [&](const Tensor &features) {
            return norm("head.norm", graph_.activated(head_activation,
                                                      graph_.linear("head.dense", features, {.biased = head_biased})));
        };
        encoder_.add_outputs(norm("model.final_norm", x),
                             {.transform = transform,
                              .pooling = pooling == "cls" ? "first" : "mean",
                              .table = table + ".weight",
                              .words = {.weight = "decoder.weight", .bias = scores_biased ? "decoder.bias" : ""},
                              .dense = "head.dense",
                              .answers = "classifier"});
    }

  private:
    Draft &draft_;
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    int64_t layers_, width_, heads_, hidden_;
    std::string activation_;
    double eps_;
    bool norm_biased_, attention_biased_, mlp_biased_;
    std::vector<bool> slides_; // layers
    int64_t window_;

    // Keys that a query attends to on each side, including its own position. "sliding_window" is half of
    // "local_attention".
    [[nodiscard]] int64_t window() const {
        if (config_.is_null("sliding_window")) config_.fail("sliding_window", "expected a number, found null");
        const int64_t both = config_.positive("local_attention");
        return (config_.has("sliding_window") ? config_.positive("sliding_window") : both / 2) + 1;
    }

    // Without types, all but every third layer have a window.
    [[nodiscard]] std::vector<bool> sliding_layers() const {
        const std::vector<std::string> types = config_.layer_types(layers_);
        const int64_t every = config_.positive("global_attn_every_n_layers");
        std::vector<bool> out;
        for (int64_t i = 0; i < layers_; ++i)
            out.push_back(types.empty() ? i % every != 0 : types[static_cast<size_t>(i)] == "sliding_attention");
        return out;
    }

    [[nodiscard]] Rotary positions(const char *layers, const char *theta_key) const {
        return rotary(draft_, width_ / heads_, {.layers = layers, .theta_key = theta_key});
    }

    Tensor norm(const std::string &module, const Tensor &x) {
        return graph_.layer_norm(module, x, {.eps = eps_, .biased = norm_biased_});
    }

    Tensor layer(int64_t number, const Tensor &x, const RotaryLayer &turned) {
        const std::string name = "model.layers." + std::to_string(number), self = name + ".attn", mlp = name + ".mlp";
        split(draft_, graph_, self + ".Wqkv",
              {.inputs = width_,
               .parts = {{self + ".q", width_}, {self + ".k", width_}, {self + ".v", width_}},
               .biased = attention_biased_});
        split(draft_, graph_, mlp + ".Wi",
              {.inputs = width_, .parts = {{mlp + ".gate", hidden_}, {mlp + ".up", hidden_}}, .biased = mlp_biased_});
        const Tensor tokens = number == 0 ? x : norm(name + ".attn_norm", x); // embeddings are normalized
        const auto projected = [&](const char *part) {
            return graph_.linear(self + part, tokens, {.biased = attention_biased_});
        };
        const Tensor q = turned(graph_, self + ".q_rotary", projected(".q"), heads_, ""),
                     k = turned(graph_, self + ".k_rotary", projected(".k"), heads_, "");
        const Tensor attended = graph_.attention(self + ".heads", q, k, projected(".v"),
                                                 {.heads = heads_,
                                                  .kv_heads = heads_,
                                                  .window = slides_[static_cast<size_t>(number)] ? window_ : 0,
                                                  .two_sided = true,
                                                  .key_lengths = encoder_.lengths()});
        const Tensor out = graph_.linear(self + ".Wo", attended, {.residual = x, .biased = attention_biased_});
        return graph_.feed_forward(mlp, norm(name + ".mlp_norm", out),
                                   {.hidden = hidden_,
                                    .activation = activation_,
                                    .up = "up",
                                    .down = "Wo",
                                    .gate = "gate",
                                    .residual = out,
                                    .biased = mlp_biased_});
    }
};

constexpr std::array<TensorName, 12> tensors{{
    {"token_embd", "model.embeddings.tok_embeddings"},
    {"token_embd_norm", "model.embeddings.norm"},
    {"output_norm", "model.final_norm"},
    {"cls", "head.dense"},
    {"cls.norm", "head.norm"},
    {"cls.output", "classifier"},
    {"blk.{i}.attn_norm", "model.layers.{i}.attn_norm"},
    {"blk.{i}.attn_qkv", "model.layers.{i}.attn.Wqkv"},
    {"blk.{i}.attn_output", "model.layers.{i}.attn.Wo"},
    {"blk.{i}.ffn_norm", "model.layers.{i}.mlp_norm"},
    {"blk.{i}.ffn_up", "model.layers.{i}.mlp.Wi"},
    {"blk.{i}.ffn_down", "model.layers.{i}.mlp.Wo"},
}};
constexpr std::array<SettingName, 6> settings{{
    {"attention.layer_norm_epsilon", "norm_eps"},
    {"attention.sliding_window", "local_attention"},
    {"attention.sliding_window_pattern", "global_attn_every_n_layers"},
    {"hidden_activation", "hidden_activation"},
    {"rope.freq_base", "global_rope_theta"},
    {"rope.freq_base_swa", "local_rope_theta"},
}};

} // namespace

namespace families {

std::span<const Architecture> modernbert() {
    static constexpr std::array<Architecture, 1> kinds{
        {{"modernbert",
          [](Draft &draft) { ModernBert(draft).build(); },
          {.architecture = "modern-bert", .tensors = tensors, .settings = settings, .encoder = true},
          base}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
