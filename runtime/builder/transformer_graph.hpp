// One graph of a transformer while it is written: layers in the format of model.json, and the weights that they need.
#pragma once

#include "builder/initial_weights.hpp"

#include <lamina/transformer.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lamina::builder {

// Names of the graph's inputs that attention is given; empty where it is given none.
struct AttentionInputs {
    std::string mask, position; // of the attention to itself
    Mask mask_kind = Mask::none;
    bool causal = false;
    std::string memory, source_mask; // of the attention to the source
    Mask source_mask_kind = Mask::none;
    int64_t memory_channels = 0;
};

class TransformerGraph {
  public:
    using Json = nlohmann::ordered_json;

    std::string input(const std::string &name, DType dtype, const std::string &dims); // returns the name
    void output(const std::string &name, const std::string &tensor) { outputs_[name] = tensor; }

    // Each reads the tensor `x`, names its layers and weights PREFIX.something, and returns the name of what it gives.
    std::string embedding(const EmbeddingsWithPositionalEncoding &e, const std::string &prefix, const std::string &x,
                          const std::string &position);
    std::string stack(const TransformerLayer &layer, int64_t layers, bool final_norm, const std::string &prefix,
                      const std::string &x, const AttentionInputs &inputs);
    std::string generator(const Generator &g, const std::string &x);

    [[nodiscard]] Json json() const { return {{"inputs", inputs_}, {"layers", layers_}, {"outputs", outputs_}}; }
    [[nodiscard]] const std::vector<InitialWeight> &weights() const { return weights_; }

  private:
    Json inputs_ = Json::object(), outputs_ = Json::object(), layers_ = Json::array();
    std::vector<InitialWeight> weights_;
};

} // namespace lamina::builder
