// The graph "encode" of an encoder, with the heads that BERT and its kin have.
#pragma once

#include "architectures/architecture.hpp"

#include <functional>

namespace lamina::architectures {

class EncoderGraph {
  public:
    // `base`: Architecture::base.
    EncoderGraph(Draft &draft, std::string_view base);

    [[nodiscard]] GraphWriter &graph() const { return *graph_; }
    [[nodiscard]] const GraphWriter::Tensor &ids() const { return ids_; }
    [[nodiscard]] const GraphWriter::Tensor &lengths() const { return lengths_; }
    // An input, for models that tell kinds of tokens apart.
    [[nodiscard]] GraphWriter::Tensor token_types() const { return graph_->input("token_types", DType::i32, "B T"); }
    // The base and a dot, before the names of its modules.
    [[nodiscard]] const std::string &prefix() const { return prefix_; }

    // The sum of embeddings of words, of positions and, if `typed`, of kinds of tokens, in tables named as BERT's. The
    // first position is that row of its table: in RoBERTa, those up to the padding token's id are not used.
    struct Embeddings {
        int64_t channels = 0, first_position = 0;
        bool typed = true;
    };
    [[nodiscard]] GraphWriter::Tensor embeddings(const Embeddings &options) const;

    // A product, an activation and a norm, unless heads have a transform, then the scores of all words.
    struct Words {
        std::string dense = {}, norm = {}, activation = {};
        int64_t channels = 0;                   // of the norm
        std::string weight = {};                // the scores', unless it is tied; empty: the embedding table always
        std::string bias = {}, other_bias = {}; // the bias, and its name in files where it is tied to that; empty: none
    };
    struct Heads {
        // What every head reads instead of hidden states, such as a product and a norm of them; empty: nothing else.
        std::function<GraphWriter::Tensor(const GraphWriter::Tensor &)> transform = {};
        std::string pooling = "first"; // of texts that are classified; a kind of the layer pooling
        std::string table = {};        // of embeddings
        Words words = {};
        double eps = 0;               // of norms
        std::string pooler = {};      // a module, for tanh(pooler(first token)); empty: none
        bool texts_by_pooler = false; // the classes of texts follow from the pooler
        std::string dense = {}, activation = "tanh",
                    out = "classifier";     // else from out(activation(dense(first token)))
        std::string answers = "qa_outputs"; // the module for answers to questions
        std::string tokens = "classifier";  // the one for classes of tokens
    };
    // What the model is for: if its files do not say it, by the weights of the heads. Embedding texts is no task.
    [[nodiscard]] Task task(const Heads &heads);
    // The outputs, of hidden states (B, T, C). Weights of heads that the model does not have are left out.
    void add_outputs(const GraphWriter::Tensor &x, const Heads &heads);

  private:
    Draft *draft_;
    GraphWriter *graph_;
    std::string prefix_;
    bool tied_; // the head for words may share the embedding table
    GraphWriter::Tensor lengths_, ids_;

    [[nodiscard]] bool has(const std::string &tensor) const { return draft_->weights.entries().contains(tensor); }
    [[nodiscard]] Task task_of_weights(const Heads &heads) const;
    [[nodiscard]] GraphWriter::Tensor pool(const GraphWriter::Tensor &x, const std::string &kind) const;
    [[nodiscard]] GraphWriter::Tensor pooled(const GraphWriter::Tensor &x, const Heads &heads);
    [[nodiscard]] GraphWriter::Tensor words(const GraphWriter::Tensor &x, const Heads &heads);
    GraphWriter::Tensor leave_out(const std::string &module);
};

} // namespace lamina::architectures
