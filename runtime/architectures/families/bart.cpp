// Encoder-decoders in the shape of the original Transformer (Vaswani et al., arXiv:1706.03762): BART (Lewis et al.,
// arXiv:1910.13461), mBART (arXiv:2001.08210), M2M-100 and NLLB (Fan et al., arXiv:2010.11125; arXiv:2207.04672),
// Pegasus (Zhang et al., arXiv:1912.08777), and Marian's translation models (Junczys-Dowmunt et al., arXiv:1804.00344).
#include "architectures/architecture.hpp"
#include "architectures/bart_layers.hpp"
#include "architectures/languages.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

enum class Positions {
    sinusoids, // or a table of them, which older files have
    table,     // of sinusoids
    learned,   // a table, of which the first two rows are padding
    fairseq,   // sinusoids with other frequencies, which start after the padding token's id
};

struct Kind {
    Positions positions;
    bool normed_before = true;      // a norm before attention and feed-forward layers, and one at the end; else after
    bool normed_embeddings = false; // a norm of the embeddings
    bool final_bias = true;         // of the scores, if the file has it
    bool with_vocabularies = false; // source and target may have vocabularies of their own
    bool classifies = false;        // there are classifiers of this type
    LanguageTokens languages = LanguageTokens::none;
};

class Bart {
  public:
    Bart(Draft &draft, const Kind &kind)
        : draft_(draft), config_(draft.config), kind_(kind),
          classifies_(kind.classifies && draft.task && *draft.task == Task::texts), encode_(draft.graph("encode")),
          decode_(classifies_ ? encode_ : draft.graph("decode")), layers_(draft, config_, kind.normed_before),
          width_(layers_.width()), positions_(layers_.positions()), vocabulary_(config_.positive("vocab_size")),
          target_vocabulary_(vocabulary_),
          scale_(config_.flag("scale_embedding") ? std::sqrt(static_cast<double>(width_)) : 1) {
        if (draft.task && !classifies_ && *draft.task != Task::words && *draft.task != Task::none)
            config_.fail("architectures", std::string("this task is not supported for this model_type; supported: ") +
                                              (kind.classifies ? "conditional generation and sequence classification"
                                                               : "conditional generation"));
    }

    void build() {
        if (draft_.texts) add_languages(kind_.languages, *draft_.texts, draft_.tokens);
        choose_tables();
        const Tensor memory = encoder();
        if (classifies_) return encode_.output("logits", classes(decoder(memory)));
        encode_.output("hidden", memory);
        decode_.output("logits", head(decoder(memory)));
    }

  private:
    static constexpr double eps = BartLayers::eps;

    Draft &draft_;
    const Config &config_;
    Kind kind_;
    bool classifies_; // texts, of which the decoder reads each token after its start; both are in one graph then
    GraphWriter &encode_, &decode_;
    BartLayers layers_;
    int64_t width_, positions_;
    int64_t vocabulary_, target_vocabulary_;
    double scale_;                                   // of the embeddings
    std::string source_table_, target_table_, head_; // names of weights

    // All tables are one, or the decoder's and the head are, or neither.
    void choose_tables() {
        const bool tied = config_.flag("tie_word_embeddings"),
                   all = kind_.with_vocabularies ? config_.flag("share_encoder_decoder_embeddings") : tied;
        const char *const source = "model.encoder.embed_tokens.weight",
                          *const target = "model.decoder.embed_tokens.weight", *const head = "lm_head.weight",
                          *const shared = "model.shared.weight";
        if (kind_.with_vocabularies) {
            const int64_t target_vocabulary = config_.integer("decoder_vocab_size", vocabulary_);
            if (!all) target_vocabulary_ = target_vocabulary;
        }
        const std::string table =
            all ? draft_.first_of({shared, head, target, source}) : draft_.first_of({target, head});
        source_table_ = all ? draft_.tied(source, table) : source;
        target_table_ = all || tied ? draft_.tied(target, table) : target;
        if (!classifies_) head_ = tied ? draft_.tied(head, table) : head;
        if (!all) draft_.unused.insert(shared);
    }

    Tensor encoder() {
        const int64_t heads = config_.positive("encoder_attention_heads"), layers = config_.layers("encoder_layers"),
                      hidden = config_.positive("encoder_ffn_dim");
        const Tensor lengths = encode_.input("lengths", DType::i32, "B");
        Tensor x = embedding(encode_, "model.encoder", source_table_, vocabulary_, "");
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = "model.encoder.layers." + std::to_string(i);
            x = layers_.self_attention(encode_, layer + ".self_attn", x,
                                       {.heads = heads, .kv_heads = heads, .key_lengths = lengths});
            x = layers_.feed_forward(encode_, layer, x, hidden);
        }
        return last_norm(encode_, "model.encoder", x);
    }

    Tensor decoder(const Tensor &memory) {
        const int64_t heads = config_.positive("decoder_attention_heads"), layers = config_.layers("decoder_layers"),
                      hidden = config_.positive("decoder_ffn_dim");
        const Tensor position = classifies_ ? "" : decode_.input("position", DType::i32, "B"),
                     lengths = decode_.input("lengths", DType::i32, "B");
        Tensor x = embedding(decode_, "model.decoder", target_table_, target_vocabulary_, position);
        for (int64_t i = 0; i < layers; ++i) {
            const std::string layer = "model.decoder.layers." + std::to_string(i);
            x = layers_.self_attention(decode_, layer + ".self_attn", x,
                                       {.heads = heads, .kv_heads = heads, .causal = true, .position = position});
            x = source_attention(layer + ".encoder_attn", x, memory,
                                 {.heads = heads, .kv_heads = heads, .key_lengths = lengths});
            x = layers_.feed_forward(decode_, layer, x, hidden);
        }
        return last_norm(decode_, "model.decoder", x);
    }

    Tensor embedding(GraphWriter &graph, const std::string &stack, const std::string &table, int64_t rows,
                     const Tensor &position) const {
        Tensor words = graph.embedding(stack + ".embed_tokens", graph.input("ids", DType::i32, "B T"),
                                       {.rows = rows, .channels = width_, .scale = scale_, .table = table});
        if (shifts(stack)) words = after_start(table, words);
        const Tensor placed = with_positions(graph, stack + ".embed_positions", words, position);
        if (!kind_.normed_embeddings) return placed;
        return graph.layer_norm(stack + ".layernorm_embedding", placed, {.eps = eps});
    }

    [[nodiscard]] bool shifts(std::string_view module) const {
        return classifies_ && module.starts_with("model.decoder");
    }

    // The token that a decoder starts with, before those of the text. The last one then has no effect.
    Tensor after_start(const std::string &table, const Tensor &words) const {
        const int64_t start = config_.integer("decoder_start_token_id", 2);
        if (start >= target_vocabulary_)
            config_.fail("decoder_start_token_id", "expected an id below " + std::to_string(target_vocabulary_));
        draft_.weights.add("model.decoder.start.rows", scaled(draft_.weights.at(table).rows(start, start + 1), scale_));
        return decode_.layer("model.decoder.start", "prepend", {{"x", words}});
    }

    Tensor with_positions(GraphWriter &graph, const std::string &module, const Tensor &x,
                          const Tensor &position) const {
        const std::string table = module + ".weight";
        switch (kind_.positions) {
        case Positions::sinusoids:
            if (draft_.weights.entries().contains(table)) break;
            return graph.layer(module, "positional_encoding", {{"x", x}, {"offset", position}},
                               {{"layout", "halves"}, {"max_len", positions_}});
        case Positions::table:
            break;
        case Positions::learned: {
            const std::string rows = layers_.learned_rows(graph, module);
            if (!shifts(module)) return graph.learned_positions(rows, x, position, positions_);
            draft_.weights.add(rows + ".more.weight", with_another_row(draft_.weights.at(rows + ".weight")));
            draft_.unused.insert(rows + ".weight");
            return graph.learned_positions(rows + ".more", x, position, positions_ + 1);
        }
        case Positions::fairseq:
            return graph.learned_positions(layers_.fairseq_rows(module), x, position, positions_);
        }
        return graph.learned_positions(module, x, position, positions_);
    }

    Tensor source_attention(const std::string &module, const Tensor &x, const Tensor &memory,
                            const GraphWriter::Attention &options) {
        const auto projected = [&](const char *part) {
            const Tensor out = encode_.linear(module + part, memory, {});
            return classifies_ ? out : pass_on(encode_, decode_, out, "B S");
        };
        const Tensor k = projected(".k_proj"), v = projected(".v_proj");
        return layers_.source_attention(decode_, module, x, k, v, options);
    }

    Tensor last_norm(GraphWriter &graph, const std::string &stack, const Tensor &x) const {
        return kind_.normed_before ? graph.layer_norm(stack + ".layer_norm", x, {.eps = eps}) : x;
    }

    // Of what the decoder knows when it has read all tokens but the one that ends the text, which it would give next.
    Tensor classes(const Tensor &x) const {
        const std::string head = "classification_head.";
        const Tensor last = encode_.layer(head + "last", "pooling", {{"x", x}, {"lengths", "lengths"}},
                                          {{"kind", "last"}}),
                     dense = encode_.activated("tanh", encode_.linear(head + "dense", last, {}));
        return encode_.linear(head + "out_proj", dense, {.outputs = label_count(config_)});
    }

    Tensor head(const Tensor &x) {
        // A file need not have it: it is zeros then (transformers, modeling_bart.py).
        const bool biased = kind_.final_bias && draft_.weights.entries().contains("final_logits_bias");
        if (biased) {
            decode_.require("final_logits_bias", {1, target_vocabulary_});
            draft_.weights.add("lm_head.bias", as_vector(draft_.weights.at("final_logits_bias")));
            draft_.unused.insert("final_logits_bias");
        }
        return decode_.linear("lm_head", x, {.outputs = target_vocabulary_, .biased = biased, .weight = head_});
    }
};

} // namespace

namespace families {

std::span<const Architecture> bart() {
    static constexpr std::array<Architecture, 5> kinds{{
        {"bart",
         [](Draft &draft) {
             Bart(draft, {.positions = Positions::learned,
                          .normed_before = false,
                          .normed_embeddings = true,
                          .classifies = true})
                 .build();
         }},
        {"m2m_100",
         [](Draft &draft) {
             Bart(draft, {.positions = Positions::fairseq, .final_bias = false, .languages = LanguageTokens::m2m_100})
                 .build();
         }},
        {"marian",
         [](Draft &draft) {
             Bart(draft, {.positions = Positions::sinusoids,
                          .normed_before = false,
                          .with_vocabularies = true,
                          .languages = LanguageTokens::marian})
                 .build();
         }},
        {"mbart",
         [](Draft &draft) {
             Bart(draft,
                  {.positions = Positions::learned, .normed_embeddings = true, .languages = LanguageTokens::mbart})
                 .build();
         }},
        {"pegasus", [](Draft &draft) { Bart(draft, {.positions = Positions::table}).build(); }},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
