// DeepSeek-V2 (DeepSeek-AI, arXiv:2405.04434), DeepSeek-V3 (arXiv:2412.19437) and GLM-4.7 Flash: multi-head latent
// attention, and mixtures of experts that are chosen within groups, beside some for every token.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/grouped_mixture.hpp"
#include "architectures/joined.hpp"
#include "architectures/made_modules.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <cmath>
#include <vector>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// All of these channels are turned: with fewer, transformers takes the frequencies for another number of them.
Rotary rotary_of(const Draft &draft, int64_t turned) {
    Rotary out = rotary(draft, turned, {.part = 1, .scales_scores = true});
    if (static_cast<int64_t>(out.frequencies.size()) * 2 != turned)
        draft.config.fail("rope_parameters", "partial_rotary_factor: only 1 is supported for this model_type");
    return out;
}

// Attention whose keys and values are all made from one row of each token, of `rank` channels, and from a rotated key
// of `turned` channels, which all heads share. The matrices that would make them, K and V of each head, are absorbed
// into its queries and into what it attends to: q (K c) = (Kᵀ q) c. So attention has one head of keys, which are also
// its values, and a cache holds just these: `turned` + `rank` channels of a token.
class LatentAttention {
  public:
    LatentAttention(Draft &draft, const DecoderGraph &decoder, double eps)
        : draft_(draft), decoder_(decoder), graph_(decoder.graph()),
          heads_(draft.config.positive("num_attention_heads")), query_rank_(query_rank(draft)),
          rank_(draft.config.positive("kv_lora_rank")), turned_(draft.config.positive("qk_rope_head_dim")),
          plain_(plain_channels(draft, turned_)), value_dim_(draft.config.positive("v_head_dim")),
          biased_(draft.config.flag("attention_bias")), eps_(draft.gguf ? eps : 1e-6),
          positions_(rotary_of(draft, turned_)),
          rotary_(draft, "model.rotary.frequencies", positions_, is_interleaved(draft.config)) {
        const Config &config = draft.config;
        if (draft.gguf) {
            config.ignore({"head_dim", "num_key_value_heads"}); // those of the absorbed form
            return;
        }
        if (config.integer("num_key_value_heads", heads_) != heads_)
            config.fail("num_key_value_heads", "expected as many as num_attention_heads, " + std::to_string(heads_));
        if (config.reads("topk_method"))
            config.ignore({"head_dim"}); // of DeepSeek-V2, transformers does not read it
        else if (config.integer("head_dim", turned_) != turned_)
            config.fail("head_dim", "expected as many as qk_rope_head_dim, " + std::to_string(turned_));
    }

    [[nodiscard]] Tensor operator()(const std::string &module, const Tensor &x, const Tensor &residual) const {
        make_absorbed(module);
        const Tensor keys = this->keys(module, x);
        const Tensor attended = graph_.attention(module + ".heads", queries(module, x), keys, "",
                                                 {.heads = heads_,
                                                  .kv_heads = 1,
                                                  .causal = true,
                                                  .scale = scale(),
                                                  .position = decoder_.position(),
                                                  .key_lengths = decoder_.lengths()});
        const Tensor latents = slice(module + ".latents", attended, turned_, rank_);
        const Tensor values = by_head(module + ".v_b_proj", latents, value_dim_, rank_);
        return graph_.linear(module + ".o_proj", values,
                             {.outputs = graph_.channels(x), .residual = residual, .biased = biased_});
    }

  private:
    Draft &draft_;
    const DecoderGraph &decoder_;
    GraphWriter &graph_;
    int64_t heads_, query_rank_, rank_, turned_, plain_, value_dim_; // query_rank_: 0 if queries are made directly
    bool biased_;
    double eps_; // transformers leaves it at this default, whatever rms_norm_eps says
    Rotary positions_;
    RotaryLayer rotary_;

    static int64_t query_rank(const Draft &draft) {
        const char *const key = "q_lora_rank";
        const bool given = !draft.gguf || draft.config.has(key); // llama.cpp has another default
        return given && draft.config.find(key) ? draft.config.positive(key) : 0;
    }
    // Channels of a head's queries and keys that are not turned.
    static int64_t plain_channels(const Draft &draft, int64_t turned) {
        if (!draft.gguf) return draft.config.positive("qk_nope_head_dim");
        const int64_t all = draft.config.positive("qk_head_dim");
        if (all <= turned) draft.config.fail("qk_head_dim", "expected more than the channels that are turned");
        return all - turned;
    }
    static bool is_interleaved(const Config &config) {
        return !config.reads("rope_interleave") || config.flag("rope_interleave");
    }
    [[nodiscard]] double scale() const {
        return positions_.score_factor / std::sqrt(static_cast<double>(plain_ + turned_));
    }

    // The matrices of the heads: (heads, rank, plain), which is K transposed, and (heads, value_dim, rank). GGUF files
    // have them so.
    void make_absorbed(const std::string &module) const {
        const std::string stored = module + ".kv_b_proj.weight";
        if (draft_.gguf) return;
        const int64_t rows = plain_ + value_dim_;
        graph_.require(stored, {heads_ * rows, rank_});
        const model::Weight &both = draft_.weights.at(stored);
        std::vector<model::Weight> keys, values;
        for (int64_t h = 0; h < heads_; ++h) {
            keys.push_back(both.rows(h * rows, h * rows + plain_));
            values.push_back(both.rows(h * rows + plain_, (h + 1) * rows));
        }
        draft_.weights.add(module + ".k_b_proj.weight", transposed_stack(model::Weight::stacked(keys), 0, 1));
        draft_.weights.add(module + ".v_b_proj.weight", model::Weight::stacked(values));
        draft_.unused.insert(stored);
    }

    [[nodiscard]] Tensor slice(const std::string &name, const Tensor &x, int64_t first, int64_t count) const {
        const Tensor out =
            graph_.layer(name, "slice", {{"x", x}}, {{"groups", heads_}, {"first", first}, {"count", count}});
        graph_.set_channels(out, heads_ * count);
        return out;
    }
    [[nodiscard]] Tensor by_head(const std::string &module, const Tensor &x, int64_t outputs, int64_t inputs) const {
        graph_.require(module + ".weight", {heads_, outputs, inputs});
        const Tensor out = graph_.layer(module, "grouped_linear", {{"x", x}}, {{"groups", heads_}});
        graph_.set_channels(out, heads_ * outputs);
        return out;
    }
    // Of each head the turned channels, then the others, as keys have them.
    [[nodiscard]] Tensor joined(const std::string &name, const Tensor &turned, const Tensor &others,
                                int64_t heads) const {
        Json params;
        if (heads != 1) params["groups"] = heads;
        const Tensor out = graph_.layer(name, "concat", {{"a", turned}, {"b", others}}, params);
        graph_.set_channels(out, heads * (turned_ + rank_));
        return out;
    }

    [[nodiscard]] Tensor queries(const std::string &module, const Tensor &x) const {
        const int64_t width = heads_ * (plain_ + turned_);
        Tensor q = x;
        if (query_rank_ != 0) {
            q = graph_.linear(module + ".q_a_proj", x, {.outputs = query_rank_, .biased = biased_});
            q = graph_.rms_norm(module + ".q_a_layernorm", q, {.eps = eps_});
        }
        q = graph_.linear(module + (query_rank_ != 0 ? ".q_b_proj" : ".q_proj"), q,
                          {.outputs = width, .biased = false});
        const Tensor turned = rotary_(graph_, module + ".q_rotary", slice(module + ".q_turned", q, plain_, turned_),
                                      heads_, decoder_.position());
        const Tensor absorbed = by_head(module + ".k_b_proj", slice(module + ".q_plain", q, 0, plain_), rank_, plain_);
        return joined(module + ".q", turned, absorbed, heads_);
    }

    [[nodiscard]] Tensor keys(const std::string &module, const Tensor &x) const {
        const std::string latent = module + ".kv_latent", turned = module + ".k_turned";
        split(draft_, graph_, module + ".kv_a_proj_with_mqa",
              {.inputs = graph_.channels(x), .parts = {{latent, rank_}, {turned, turned_}}, .biased = biased_});
        const Tensor c = graph_.rms_norm(
            module + ".kv_a_layernorm", graph_.linear(latent, x, {.outputs = rank_, .biased = biased_}), {.eps = eps_});
        const Tensor key =
            rotary_(graph_, module + ".k_rotary", graph_.linear(turned, x, {.outputs = turned_, .biased = biased_}), 1,
                    decoder_.position());
        return joined(module + ".k", key, c, 1);
    }
};

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = layers_without_drafts(draft);
    const int64_t width = config.positive("hidden_size"), vocabulary = config.positive("vocab_size");
    const double eps = config.real("rms_norm_eps");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const LatentAttention attention(draft, decoder, eps);
    const GroupedMixture feed_forward(draft, layers);
    const std::string table = "model.embed_tokens";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        x = attention(layer + ".self_attn", graph.rms_norm(layer + ".input_layernorm", x, {.eps = eps}), x);
        x = feed_forward(i, graph, graph.rms_norm(layer + ".post_attention_layernorm", x, {.eps = eps}), x);
    }
    decoder.add_outputs(graph.rms_norm("model.norm", x, {.eps = eps}),
                        {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 7> latent_tensors{{
    {"blk.{i}.attn_q_a", "model.layers.{i}.self_attn.q_a_proj"},
    {"blk.{i}.attn_q_a_norm", "model.layers.{i}.self_attn.q_a_layernorm"},
    {"blk.{i}.attn_q_b", "model.layers.{i}.self_attn.q_b_proj"},
    {"blk.{i}.attn_kv_a_mqa", "model.layers.{i}.self_attn.kv_a_proj_with_mqa"},
    {"blk.{i}.attn_kv_a_norm", "model.layers.{i}.self_attn.kv_a_layernorm"},
    {"blk.{i}.attn_k_b", "model.layers.{i}.self_attn.k_b_proj"},
    {"blk.{i}.attn_v_b", "model.layers.{i}.self_attn.v_b_proj"},
}};
constexpr std::array<SettingName, 6> latent_settings{{
    {"attention.key_length_mla", "qk_head_dim"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.value_length_mla", "v_head_dim"},
    {"rope.dimension_count", "qk_rope_head_dim"},
    {"rope.scaling.yarn_log_multiplier", "mscale_all_dim"},
}};
constexpr auto tensors = joined(latent_tensors, grouped_mixture_tensors);
constexpr auto settings = joined(latent_settings, grouped_mixture_settings);

} // namespace

namespace families {

std::span<const Architecture> deepseek() {
    static constexpr std::array<Architecture, 3> kinds{{
        {"deepseek_v2", build, {}, "model"},
        {"deepseek_v3", build, {"deepseek2", tensors, settings}, "model"},
        {"glm4_moe_lite", build, {}, "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
