// The layers that encoder-decoders in the shape of the original Transformer have alike (Vaswani et al.,
// arXiv:1706.03762), with the names that BART's modules have.
#pragma once

#include "architectures/architecture.hpp"

#include <functional>
#include <string>

namespace lamina::architectures {

class BartLayers {
  public:
    // Reads "activation_function", "d_model" and "max_position_embeddings". normed_before: a norm comes before
    // attention and feed-forward layers; else after them. Both must outlive it.
    BartLayers(Draft &draft, const Config &config, bool normed_before);

    static constexpr double eps = 1e-5; // of norms

    [[nodiscard]] int64_t width() const { return width_; } // channels
    [[nodiscard]] int64_t positions() const { return positions_; }

    // Attention of x to itself, or to these keys and values; MODULE_layer_norm is its norm.
    [[nodiscard]] GraphWriter::Tensor self_attention(GraphWriter &graph, const std::string &module,
                                                     const GraphWriter::Tensor &x,
                                                     const GraphWriter::Attention &options) const;
    [[nodiscard]] GraphWriter::Tensor source_attention(GraphWriter &graph, const std::string &module,
                                                       const GraphWriter::Tensor &x, const GraphWriter::Tensor &k,
                                                       const GraphWriter::Tensor &v,
                                                       const GraphWriter::Attention &options) const;
    [[nodiscard]] GraphWriter::Tensor feed_forward(GraphWriter &graph, const std::string &layer,
                                                   const GraphWriter::Tensor &x, int64_t hidden) const;

    // Each adds a table MODULE.rows.weight of positions and returns its module. Learned ones are those of MODULE.weight
    // without its first two rows, which are padding. Sinusoids are as fairseq has them: with other frequencies than
    // BERT's, which start after the padding token's id.
    [[nodiscard]] std::string learned_rows(GraphWriter &graph, const std::string &module) const;
    [[nodiscard]] std::string fairseq_rows(const std::string &module) const;

  private:
    Draft &draft_;
    const Config &config_;
    bool normed_before_;
    std::string activation_;
    int64_t width_, positions_;

    // Adds what `part` makes of x to x, with a norm before or after.
    [[nodiscard]] GraphWriter::Tensor added(
        GraphWriter &graph, const std::string &norm, const GraphWriter::Tensor &x,
        const std::function<GraphWriter::Tensor(const GraphWriter::Tensor &tokens, const GraphWriter::Tensor &residual)>
            &part) const;
};

} // namespace lamina::architectures
