// The layers of ViT (Dosovitskiy et al., arXiv:2010.11929) and DeiT (Touvron et al., arXiv:2012.12877), without a head.
#pragma once

#include "architectures/image_graph.hpp"

#include <string>

namespace lamina::architectures {

class VitLayers {
  public:
    // Adds them to the graph `graph`. Reads "layer_norm_eps", "hidden_size", "num_hidden_layers", "intermediate_size",
    // "hidden_act" and what ImageGraph reads. `prefix`: before the names of modules, with its dot. distilled: after the
    // class token comes another, learned from a teacher. All must outlive it.
    VitLayers(Draft &draft, const Config &config, std::string prefix, bool distilled,
              const char *graph = "encode_image");

    [[nodiscard]] const ImageGraph &images() const { return images_; }
    [[nodiscard]] int64_t width() const { return width_; } // channels
    [[nodiscard]] int64_t tokens() const { return images_.patches() + own_tokens(); }

    // All of them and the norm behind: of an image (B, tokens, C).
    [[nodiscard]] GraphWriter::Tensor hidden() const;

  private:
    Draft &draft_;
    const Config &config_;
    ImageGraph images_;
    std::string prefix_;
    bool distilled_;
    double eps_;
    int64_t width_;

    [[nodiscard]] int64_t own_tokens() const { return distilled_ ? 2 : 1; }
    [[nodiscard]] GraphWriter::Tensor embeddings() const;
    [[nodiscard]] GraphWriter::Tensor layer(const std::string &name, const GraphWriter::Tensor &x) const;
};

} // namespace lamina::architectures
