// The one graph of a decoder: "decode", which continues texts, or "encode", which reads them.
#pragma once

#include "architectures/architecture.hpp"
#include "architectures/rotary.hpp"

#include <functional>

namespace lamina::architectures {

// "sliding_window" of a model whose layers all have it, whatever "layer_types" says; 0: none.
[[nodiscard]] int64_t common_window(const Config &config);
// What queries, keys and values are kept within, by a key that may be null; 0: nothing.
[[nodiscard]] double clip_of(const Config &config, const char *key);
// For a model without a window: transformers cannot make a cache for "layer_types" with sliding_attention, even where
// nothing else reads them.
void refuse_sliding_layers(const Config &config);

// The layers that predict the next token. Those behind them predict tokens ahead; their weights may be in the file, and
// a GGUF file counts them.
[[nodiscard]] int64_t layers_without_drafts(Draft &draft);

// Whether the decoder of these files has a head for words.
[[nodiscard]] bool continues_texts(const Draft &draft);

// How many heads queries have, and keys and values, and the channels of each.
struct AttentionHeads {
    int64_t count, kv_count, dim;

    // By "num_attention_heads", "num_key_value_heads" and "head_dim".
    [[nodiscard]] static AttentionHeads of(const Config &config, int64_t width);
};

class DecoderGraph {
  public:
    // It continues texts if the model has a head for words. It reads them if the model was trained to classify them, or
    // for vectors, or if it has no head.
    explicit DecoderGraph(Draft &draft);

    [[nodiscard]] GraphWriter &graph() const { return *graph_; }
    [[nodiscard]] const GraphWriter::Tensor &ids() const { return ids_; }
    // Of the first id, in a graph that continues texts; else empty: all begin at 0.
    [[nodiscard]] const GraphWriter::Tensor &position() const { return position_; }
    // Of the texts, in a graph that reads them; else empty.
    [[nodiscard]] const GraphWriter::Tensor &lengths() const { return lengths_; }

    // How many of the ids count, in a graph that continues texts; else empty. For layers whose states cannot forget
    // tokens: the first call adds the input.
    [[nodiscard]] GraphWriter::Tensor target_lengths() const;

    // Whether it continues texts.
    [[nodiscard]] bool continues() const { return task_ == Task::words; }
    // Whether it scores words, to continue texts or to rank them.
    [[nodiscard]] bool scores_words() const { return continues() || draft_->token_score; }

    // Of queries or keys, before their positions, such as [](MODULE.q_norm, q, heads) { ... }.
    using HeadNorm =
        std::function<GraphWriter::Tensor(const std::string &, const GraphWriter::Tensor &, int64_t heads)>;

    // Of the ids; of images of a prompt, what the model sees in their places. words_scaled: a scale is of words alone,
    // and not of images.
    [[nodiscard]] GraphWriter::Tensor embedded(const std::string &module, const GraphWriter::Embedding &options,
                                               bool words_scaled = false) const;
    // How far tokens look ahead, of a model whose images see all of themselves; else empty.
    [[nodiscard]] GraphWriter::Tensor ahead() const;
    // What comes out of layer `number`, with what images show beside that is added there (ImageInput::details); else x.
    [[nodiscard]] GraphWriter::Tensor with_details(const std::string &layer, int64_t number,
                                                   const GraphWriter::Tensor &x) const;

    struct SelfAttention {
        AttentionHeads heads;
        bool biased = false, out_biased = false;
        bool gated = false; // what a head attends to is multiplied by a sigmoid: MODULE.q_proj has both, head by head
        std::string out = "o_proj";
        HeadNorm norm = {};                  // empty: none
        const RotaryLayer *rotary = nullptr; // null: positions do not count here
        double scale = 0, softcap = 0;       // as GraphWriter::Attention has them
        double clip = 0;                     // queries, keys and values are kept within +-clip; 0: they are not
        int64_t window = 0;
        std::string slopes = {}, sinks = {};
        double factor = 1; // of what heads gather
        GraphWriter::Tensor residual = {};
        bool causal = true; // false: tokens see those behind them, too
    };
    // Attention of tokens to those before them: the products MODULE.q_proj, .k_proj and .v_proj, then that of the
    // output.
    [[nodiscard]] GraphWriter::Tensor self_attention(const std::string &module, const GraphWriter::Tensor &x,
                                                     const SelfAttention &options) const;

    struct Heads {
        int64_t vocabulary;
        std::string table;            // the embedding table, which the head for words may share
        double softcap = 0;           // of the scores of words; 0: none
        const char *tokens = "score"; // the module of the head for tokens
        bool biased = false;          // the head for words
    };
    // The outputs, of hidden states (B, T, C).
    void add_outputs(const GraphWriter::Tensor &x, const Heads &heads) const;

  private:
    Draft *draft_;
    bool tied_; // the head for words may share the embedding table
    Task task_;
    GraphWriter *graph_;
    GraphWriter::Tensor ids_, position_, lengths_;

    [[nodiscard]] GraphWriter::Tensor words(const GraphWriter::Tensor &x, const Heads &heads) const;
    [[nodiscard]] GraphWriter::Tensor asked(const GraphWriter::Tensor &x, const Heads &heads) const;
};

} // namespace lamina::architectures
