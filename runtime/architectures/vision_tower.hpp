// What models that see and talk make of an image: the vision transformer of CLIP or SigLIP, without its head.
#pragma once

#include "architectures/clip_layers.hpp"
#include "architectures/file_names.hpp"
#include "architectures/image_graph.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace lamina::architectures {

class VisionTower {
  public:
    // Reads "vision_config" of `whole`, whose "model_type" says which of both it is; by default `type`. `prefix`:
    // before the names of modules, with its dot.
    VisionTower(Draft &draft, const Config &whole, const char *type, const std::string &prefix);

    [[nodiscard]] const ImageGraph &images() const { return images_; }
    [[nodiscard]] GraphWriter &graph() const { return images_.graph(); }
    [[nodiscard]] const Config &config() const { return config_; }
    [[nodiscard]] const ClipLayers &layers() const { return layers_; }
    // Whether a class token comes before the patches.
    [[nodiscard]] bool has_token() const { return of_clip_; }

    // What goes into the first layer and comes out of each, (B, tokens, C); those that are asked for, in their order.
    // -1 is the last one. Throws Error(input) for a number that no layer has; `key` is where `whole` says it.
    [[nodiscard]] std::vector<GraphWriter::Tensor> states(const std::vector<int64_t> &wanted, const char *key) const;

    // The last of them, normed.
    [[nodiscard]] GraphWriter::Tensor last() const;

  private:
    Config whole_;
    Config config_;
    bool of_clip_;
    bool whole_file_; // it has all layers, also those that nothing takes
    ImageGraph images_;
    ClipLayers layers_;
    std::string prefix_;

    [[nodiscard]] GraphWriter::Tensor embedded() const;
    // Throws Error(input) unless the file has the weights of SigLIP's head, if there is one, which nothing takes.
    void require_head() const;
};

// Of the states of a vision transformer, what goes into its first layer and comes out of each, those that are wanted,
// in their order; -1 is the last one. `all` has the first one, and then those that were needed: layer(number, x) makes
// them. Throws Error(input) for a number that none of the layers has; `key` is where `whole` says it.
[[nodiscard]] std::vector<GraphWriter::Tensor>
wanted_states(const Config &whole, const char *key, const std::vector<int64_t> &wanted, int64_t layers,
              std::vector<GraphWriter::Tensor> &all,
              const std::function<GraphWriter::Tensor(int64_t number, const GraphWriter::Tensor &x)> &layer);

// Of modules in published files, which have older names.
inline constexpr std::array<Renaming, 6> older_names_of_towers{{
    {"model.language_model.", "model."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
    {"model.vision_tower.", "vision_tower."},
    {"model.multi_modal_projector.", "multi_modal_projector."},
    {"vision_tower.vision_model.", "vision_tower."},
}};

// The text of the token whose id `key` of `whole` has; empty if the files have no tokenizer.
[[nodiscard]] std::string token_text(const Draft &draft, const Config &whole, const char *key);

// "place" of model.json, of the image token that `key` of `whole` names: it stands for an image, and is read in its
// place.
[[nodiscard]] Json image_place(const Draft &draft, const Config &whole, const char *key);

} // namespace lamina::architectures
