// BERT as a decoder that attends to what an encoder sees.
#pragma once

#include "architectures/architecture.hpp"

#include <cstdint>
#include <string>

namespace lamina::architectures {

// Its graph is "decode"; keys and values of what is seen are computed in "encode".
class BertWriter {
  public:
    struct Kind {
        std::string prefix; // of the names of weights, before "bert." and "cls."
        bool tied = true;   // the head has the table of words
        bool typed = false; // tokens are of types, here all of the first one
    };
    BertWriter(Draft &draft, const Config &config, const Kind &kind);

    using Tensor = GraphWriter::Tensor;
    // `memory`: (B, N, C), of the graph "encode". `seen`: N. Returns logits (B, T, V).
    [[nodiscard]] Tensor scores(const Tensor &memory, int64_t seen);

  private:
    Draft &draft_;
    const Config &config_;
    bool tied_, typed_;
    std::string base_, predictions_;
    GraphWriter &encode_, &decode_;
    double eps_;
    int64_t width_, heads_, vocabulary_, hidden_;
    std::string activation_;

    Tensor norm(const std::string &module, const Tensor &x);
    [[nodiscard]] std::string words() const;
    Tensor embedded(const Tensor &position);
    Tensor attended(const std::string &module, const Tensor &x, const Tensor &k, const Tensor &v,
                    GraphWriter::Attention options);
    Tensor self_attention(const std::string &module, const Tensor &x, const Tensor &position);
    Tensor source_attention(const std::string &module, const Tensor &x, const Tensor &memory, int64_t seen);
    Tensor head(const Tensor &x);
};

} // namespace lamina::architectures
