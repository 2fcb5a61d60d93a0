// What models that see and talk make of an image of any size: Pixtral's vision transformer (Agrawal et al.,
// arXiv:2410.07073), whose patches have rotary positions in rows and columns.
#pragma once

#include "architectures/architecture.hpp"
#include "architectures/rotary.hpp"

#include <string>
#include <vector>

namespace lamina::architectures {

class PixtralTower {
  public:
    // Reads "vision_config" of `whole`. Patches come in squares of `merge` a side, which the caller makes one token of.
    PixtralTower(Draft &draft, const Config &whole, int64_t merge);

    // Whether the part that sees is this one, by "model_type" of "vision_config"; `otherwise`: if it says none.
    [[nodiscard]] static bool is_in(const Config &whole, bool otherwise);

    [[nodiscard]] GraphWriter &graph() const { return graph_; }
    [[nodiscard]] const Config &config() const { return config_; }
    [[nodiscard]] int64_t width() const { return width_; }

    // What goes into the first layer and comes out of each, (B, patches, C); those that are asked for, in their order.
    // -1 is the last one. Throws Error(input) for a number that no layer has; `key` is where `whole` says it.
    [[nodiscard]] std::vector<GraphWriter::Tensor> states(const std::vector<int64_t> &wanted, const char *key) const;

    // The output: a row for each token, (B, N, C). In a prompt, a token follows each row of the image's.
    void add_rows(const GraphWriter::Tensor &x) const;

  private:
    static constexpr const char *part_key = "vision_config", *model_type = "pixtral", *prefix = "vision_tower.";
    static constexpr double eps = 1e-5; // of norms

    Draft &draft_;
    Config whole_, config_;
    GraphWriter &graph_;
    int64_t merge_, patch_, width_, heads_, hidden_;
    std::string activation_;

    void read_input() const;
    [[nodiscard]] GraphWriter::Tensor embedded() const;
    [[nodiscard]] GraphWriter::Tensor layer(int64_t number, const GraphWriter::Tensor &x,
                                            const RotaryLayer &rotary) const;
    void require_layer(int64_t number) const;
    static std::string module_of(int64_t layer);
};

} // namespace lamina::architectures
