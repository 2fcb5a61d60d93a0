// The one graph of a decoder: "decode", which continues texts, or "encode", which reads them.
#pragma once

#include "architectures/architecture.hpp"

namespace lamina::architectures {

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

    struct Heads {
        int64_t vocabulary;
        std::string table;            // the embedding table, which the head for words may share
        double softcap = 0;           // of the scores of words; 0: none
        const char *tokens = "score"; // the module of the head for tokens
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
};

} // namespace lamina::architectures
