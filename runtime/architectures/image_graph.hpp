// The graph of a vision transformer, by default "encode_image": images in patches, from the top left.
#pragma once

#include "architectures/architecture.hpp"

namespace lamina::architectures {

class ImageGraph {
  public:
    // Reads `size`, "patch_size" and "num_channels" of `config`. any_size: images have the size that the files prepare
    // them to, and not that of `config`, which the positions were trained with.
    ImageGraph(Draft &draft, const Config &config, bool any_size = false, const char *graph = "encode_image",
               const char *size = "image_size");

    [[nodiscard]] GraphWriter &graph() const { return *graph_; }
    [[nodiscard]] int64_t patches() const { return rows_ * columns_; } // of an image
    [[nodiscard]] int64_t rows() const { return rows_; }
    [[nodiscard]] int64_t columns() const { return columns_; }
    // From now on patches come in squares of so many a side, which divides rows and columns, one square after the
    // other.
    void merge(int64_t side) const { draft_->images->merge = side; }

    // A convolution whose steps are as wide as it is: a product of each patch.
    [[nodiscard]] GraphWriter::Tensor embedded(const std::string &module, int64_t width, bool biased) const;
    // A learned token before those of x: a tensor of the file, of any shape with as many values.
    [[nodiscard]] GraphWriter::Tensor with_token(const std::string &token, const GraphWriter::Tensor &x,
                                                 const Shape &shape) const;
    // Adds those of MODULE.weight, of `tokens` and of each patch, in which patches stand row by row.
    [[nodiscard]] GraphWriter::Tensor learned_positions(const std::string &module, const GraphWriter::Tensor &x,
                                                        int64_t tokens) const;
    // Adds positions, of `tokens` and of each patch: a tensor of the file, (1, tokens + patches, C). Those of patches
    // are resampled if images have another size than the model was trained with.
    [[nodiscard]] GraphWriter::Tensor with_positions(const std::string &positions, const GraphWriter::Tensor &x,
                                                     int64_t tokens) const;
    // Self-attention of ViT and its kin, before the product that follows: MODULE.query, .key and .value of x. Reads
    // "num_attention_heads", "head_dim" and "qkv_bias".
    [[nodiscard]] GraphWriter::Tensor attended(const Config &config, const std::string &module,
                                               const GraphWriter::Tensor &x) const;
    // The output for prompts: rows (B, N, C) that take the place of tokens. `place`: as model.json has it.
    void add_rows(const GraphWriter::Tensor &x, Json place) const;
    // The output for images: vectors, or classes.
    void add_output(const std::string &name, const GraphWriter::Tensor &x, bool classes, Json matching = nullptr) const;

  private:
    Draft *draft_;
    GraphWriter *graph_;
    int64_t patch_ = 0, rows_ = 0, columns_ = 0;
    int64_t trained_rows_ = 0, trained_columns_ = 0; // of positions
};

} // namespace lamina::architectures
