// The layers of GPT-2 (Radford et al.: Language Models are Unsupervised Multitask Learners, 2019), alone or as the
// decoder of a model that sees.
#pragma once

#include "architectures/architecture.hpp"

#include <string>

namespace lamina::architectures {

class Gpt2Layers {
  public:
    // `prefix`: of the names of weights, "transformer.". The config is GPT-2's.
    Gpt2Layers(Draft &draft, const Config &config, GraphWriter &graph, std::string prefix);

    using Tensor = GraphWriter::Tensor;
    // Of an encoder, (B, N, C) with C of width(), in a graph of its own.
    struct Memory {
        GraphWriter &graph;
        Tensor seen;
        int64_t length; // N
    };
    struct Inputs {
        Tensor ids, position, lengths; // the last two may be empty
    };
    // After the last norm. Without `memory`, no layer attends to an encoder.
    [[nodiscard]] Tensor hidden(const Inputs &inputs, const Memory *memory = nullptr);

    [[nodiscard]] int64_t width() const { return width_; }
    [[nodiscard]] int64_t positions() const { return positions_; }
    [[nodiscard]] int64_t vocabulary() const { return vocabulary_; }
    [[nodiscard]] std::string table() const { return prefix_ + "wte.weight"; } // of the embeddings

  private:
    Draft &draft_;
    GraphWriter &graph_;
    std::string prefix_;
    int64_t width_, heads_, layers_, positions_, vocabulary_, hidden_;
    double eps_;
    std::string activation_;
    bool scaled_, scaled_by_layer_;

    std::string transposed(GraphWriter &graph, const std::string &module, const Shape &shape, const std::string &name,
                           int64_t part = 0, int64_t parts = 1);
    Tensor self_attention(int64_t number, const Tensor &x, const Inputs &inputs);
    Tensor source_attention(int64_t number, const Tensor &x, const Memory &memory);
    Tensor feed_forward(int64_t number, const Tensor &x);
    [[nodiscard]] std::string layer(int64_t number) const { return prefix_ + "h." + std::to_string(number); }
    [[nodiscard]] double scale(int64_t number) const; // of scores
};

} // namespace lamina::architectures
