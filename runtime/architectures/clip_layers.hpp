// The layers that CLIP, SigLIP and those who took them over have alike, for texts and for images.
#pragma once

#include "architectures/architecture.hpp"

#include <string>

namespace lamina::architectures {

class ClipLayers {
  public:
    // Reads "layer_norm_eps", "num_attention_heads", "hidden_size", "intermediate_size", "hidden_act" and
    // "num_hidden_layers". `prefix`: before the names of modules, with its dot. All must outlive it.
    ClipLayers(GraphWriter &graph, const Config &config, std::string prefix);

    [[nodiscard]] int64_t width() const { return width_; } // channels
    [[nodiscard]] int64_t heads() const { return heads_; }
    [[nodiscard]] double eps() const { return eps_; }      // of norms
    [[nodiscard]] int64_t count() const { return count_; } // of layers
    [[nodiscard]] const std::string &prefix() const { return prefix_; }

    [[nodiscard]] GraphWriter::Tensor norm(const std::string &name, const GraphWriter::Tensor &x) const;
    // One layer, or all of them, of x (B, T, C). lengths: of keys; empty: all.
    [[nodiscard]] GraphWriter::Tensor layer(int64_t number, const GraphWriter::Tensor &x, bool causal,
                                            const GraphWriter::Tensor &lengths) const;
    [[nodiscard]] GraphWriter::Tensor all(GraphWriter::Tensor x, bool causal, const GraphWriter::Tensor &lengths) const;
    // Throws Error(input) unless the file has the weights of a layer, for layers that are not added.
    void require_layer(int64_t number) const;
    void require_norm(const std::string &name) const;
    // Two products with an activation between them: PREFIX NAME.fc1 and .fc2 of x.
    [[nodiscard]] GraphWriter::Tensor feed_forward(const std::string &name, const GraphWriter::Tensor &x,
                                                   const GraphWriter::Tensor &residual) const;

  private:
    GraphWriter &graph_;
    std::string prefix_;
    double eps_;
    int64_t heads_, width_, hidden_, count_;
    std::string activation_;
};

} // namespace lamina::architectures
