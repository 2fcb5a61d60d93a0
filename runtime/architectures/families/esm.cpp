// ESM-2 (Lin et al., Science 379, 2023) and ESM-1b (Rives et al., PNAS 118, 2021): encoders of proteins, whose tokens
// are amino acids.
#include "architectures/architecture.hpp"
#include "architectures/encoder_graph.hpp"
#include "architectures/rotary.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <optional>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr const char *base = "esm";

class Esm {
  public:
    explicit Esm(Draft &draft)
        : draft_(draft), config_(draft.config), encoder_(draft, base), graph_(encoder_.graph()),
          width_(config_.positive("hidden_size")), heads_(config_.positive("num_attention_heads")),
          hidden_(config_.positive("intermediate_size")), layers_(config_.layers("num_hidden_layers")),
          eps_(config_.real("layer_norm_eps")) {
        for (const char *key : {"hidden_dropout_prob", "position_embedding_type"})
            if (config_.is_null(key)) config_.fail(key, "expected a value, found null; leave the key out instead");
        for (const char *key : {"add_cross_attention", "is_decoder", "is_folding_model"})
            if (config_.flag(key)) config_.fail(key, "true is not supported; expected false");
        if (width_ % heads_ != 0)
            config_.fail("num_attention_heads",
                         "expected a number that divides the hidden_size, " + std::to_string(width_));
        const std::string positions = config_.text("position_embedding_type", "absolute");
        if (positions == "rotary")
            add_rotary();
        else if (positions == "absolute")
            config_.ignore({"rope_theta"});
        else
            config_.fail("position_embedding_type", "expected absolute or rotary");
    }

    void build() {
        const std::string encoder = prefix() + "encoder.";
        Tensor x = embeddings();
        for (int64_t i = 0; i < layers_; ++i) x = layer(encoder + "layer." + std::to_string(i), x);
        x = graph_.layer_norm(encoder + "emb_layer_norm_after", x, {.eps = eps_});
        const std::string contacts = prefix() + "contact_head.regression"; // by all scores of attention
        graph_.require(contacts + ".weight", {1, layers_ * heads_});
        graph_.require(contacts + ".bias", {1});
        draft_.unused.insert({contacts + ".weight", contacts + ".bias"});
        encoder_.add_outputs(x, {.table = prefix() + "embeddings.word_embeddings.weight",
                                 .words = {.dense = "lm_head.dense",
                                           .norm = "lm_head.layer_norm",
                                           .activation = "gelu",
                                           .channels = width_,
                                           .weight = "lm_head.decoder.weight",
                                           .bias = "lm_head.bias"},
                                 .eps = eps_,
                                 .pooler = prefix() + "pooler.dense",
                                 .dense = "classifier.dense",
                                 .out = "classifier.out_proj"});
    }

  private:
    Draft &draft_;
    const Config &config_;
    EncoderGraph encoder_;
    GraphWriter &graph_;
    int64_t width_, heads_, hidden_, layers_;
    double eps_;
    std::optional<RotaryLayer> rotary_;

    [[nodiscard]] const std::string &prefix() const { return encoder_.prefix(); }

    // Files have the frequencies that models were trained with, rounded: one of the whole, or in older files of each
    // layer, of which the first counts; transformers 5 writes "*" for its number.
    void add_rotary() {
        const std::string whole = prefix() + "rotary_embeddings.inv_freq", start = prefix() + "encoder.layer.",
                          end = ".attention.self.rotary_embeddings.inv_freq";
        Rotary found = rotary(draft_, width_ / heads_);
        const std::string stored = draft_.first_of({whole, start + "0" + end, start + "*" + end});
        graph_.require(stored, {width_ / heads_ / 2});
        found.frequencies = numbers_of(draft_.weights.at(stored));
        draft_.unused.insert({whole, start + "*" + end});
        for (int64_t i = 0; i < layers_; ++i) draft_.unused.insert(start + std::to_string(i) + end);
        rotary_.emplace(draft_, "esm.rotary.frequencies", found, false);
    }

    [[nodiscard]] Tensor embeddings() const {
        const std::string name = prefix() + "embeddings.", table = name + "position_embeddings.weight";
        const int64_t padding = config_.integer("pad_token_id");
        Tensor x = graph_.embedding(name + "word_embeddings", encoder_.ids(),
                                    {.rows = config_.positive("vocab_size"), .channels = width_});
        if (config_.flag("token_dropout") && config_.integer("mask_token_id") == padding)
            config_.fail("mask_token_id", "expected another token than pad_token_id");
        if (config_.flag("token_dropout"))
            x = graph_.layer(name + "token_dropout", "token_dropout",
                             {{"x", x}, {"ids", encoder_.ids()}, {"lengths", encoder_.lengths()}},
                             {{"mask", config_.integer("mask_token_id")}});
        else
            config_.ignore({"mask_token_id"});
        const int64_t rows = config_.positive("max_position_embeddings");
        if (!rotary_) { // positions start after the padding token's id
            graph_.require(table, {rows, width_});
            draft_.weights.add(name + "positions.weight", draft_.weights.at(table).rows(padding + 1, rows));
            x = graph_.learned_positions(name + "positions", x, "", rows - padding - 1);
        }
        draft_.unused.insert(table); // older files have one beside rotary positions, too
        return config_.flag("emb_layer_norm_before") ? graph_.layer_norm(name + "layer_norm", x, {.eps = eps_}) : x;
    }

    [[nodiscard]] Tensor layer(const std::string &name, const Tensor &x) const {
        const std::string self = name + ".attention.self", attention = name + ".attention";
        const Tensor normed = graph_.layer_norm(attention + ".LayerNorm", x, {.eps = eps_});
        const auto turned = [&](const char *part) {
            const Tensor rows = graph_.linear(self + part, normed, {});
            return rotary_ ? (*rotary_)(graph_, self + part + "_rotary", rows, heads_, "") : rows;
        };
        const Tensor q = turned(".query"), k = turned(".key"), v = graph_.linear(self + ".value", normed, {});
        const Tensor attended = graph_.attention(
            attention + ".heads", q, k, v, {.heads = heads_, .kv_heads = heads_, .key_lengths = encoder_.lengths()});
        const Tensor out = graph_.linear(attention + ".output.dense", attended, {.residual = x});
        return graph_.feed_forward(name, graph_.layer_norm(name + ".LayerNorm", out, {.eps = eps_}),
                                   {.hidden = hidden_,
                                    .activation = "gelu",
                                    .up = "intermediate.dense",
                                    .down = "output.dense",
                                    .residual = out});
    }
};

} // namespace

namespace families {

std::span<const Architecture> esm() {
    static constexpr std::array<Architecture, 1> kinds{{
        {"esm", [](Draft &draft) { Esm(draft).build(); }, {}, base},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
