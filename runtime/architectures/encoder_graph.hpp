// The graph "encode" of an encoder, with the heads that BERT and its kin have.
#pragma once

#include "architectures/architecture.hpp"

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

    // A product, an activation and a norm, then the scores of all words.
    struct Words {
        std::string dense = {}, norm = {}, activation = {}; // dense: empty for none
        int64_t channels = 0;                               // of the norm
        std::string weight = {};                            // the product's, unless it is the embedding table
        std::string bias = {}, other_bias = {}; // the bias, and its name in files where it is tied to that; empty: none
        bool norm_biased = true;
    };
    struct Heads {
        std::string table = {}; // of embeddings
        Words words = {};
        double eps = 0;               // of norms
        std::string pooler = {};      // a module, for tanh(pooler(first token)); empty: none
        bool texts_by_pooler = false; // the classes of texts follow from the pooler
        std::string dense = {}, activation = "tanh",
                    out = "classifier"; // else from out(activation(dense(first token)))
    };
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
    [[nodiscard]] GraphWriter::Tensor first(const GraphWriter::Tensor &x) const;
    [[nodiscard]] GraphWriter::Tensor pooled(const GraphWriter::Tensor &x, const Heads &heads);
    [[nodiscard]] GraphWriter::Tensor words(const GraphWriter::Tensor &x, const Heads &heads);
    GraphWriter::Tensor leave_out(const std::string &module);
};

} // namespace lamina::architectures
