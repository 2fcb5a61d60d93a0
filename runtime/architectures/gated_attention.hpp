// The attention of WavLM (Chen et al., arXiv:2110.13900, section III-B): each score has a bias by the distance of the
// key, as in T5, and a gate that each query makes of its row says how much of it counts.
#pragma once

#include "architectures/architecture.hpp"
#include "architectures/made_weights.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lamina::architectures {

class GatedAttention {
  public:
    // Adds the weights that all layers share, from the table FIRST.rel_attn_embed of the first one. Throws Error(input)
    // for settings of distances that make no sense.
    GatedAttention(Draft &draft, GraphWriter &graph, const std::string &first, int64_t width, int64_t heads);

    // Attention of the frames x to each other, as many of them as `lengths` says, with the weights of `module`.
    [[nodiscard]] GraphWriter::Tensor attended(const std::string &module, const GraphWriter::Tensor &x,
                                               const GraphWriter::Tensor &lengths,
                                               const GraphWriter::Tensor &residual) const;

  private:
    // A weight that `fill` makes of those of the file, which no layer reads then.
    void add(const std::string &name, const Shape &shape, const std::vector<std::string> &from,
             std::function<void(const ValuesOf &from, std::span<float> to)> fill) const;
    [[nodiscard]] GraphWriter::Tensor gates(const std::string &module, const GraphWriter::Tensor &x) const;
    [[nodiscard]] GraphWriter::Tensor with_spare_channels(const std::string &name, const std::string &projection,
                                                          const GraphWriter::Tensor &x) const;

    Draft &draft_;
    GraphWriter &graph_;
    int64_t width_, heads_, head_;
    std::string distances_;
};

} // namespace lamina::architectures
