// Builds one graph of a transformer: layers in the format of model.json, and the weights that they need.
#pragma once

#include "base/json.hpp"
#include "builder/initial_weights.hpp"

#include <lamina/transformer.hpp>

#include <string>
#include <vector>

namespace lamina::builder {

// Names of the graph inputs that attention takes; empty if it takes none.
struct AttentionInputs {
    std::string mask, position; // of the attention to itself
    Mask mask_kind = Mask::none;
    bool causal = false;
    std::string memory, source_mask; // of the attention to the source; without memory, keys and values are inputs
    Mask source_mask_kind = Mask::none;
};

class TransformerGraph {
  public:
    std::string input(const std::string &name, DType dtype, const std::string &dims); // returns the name
    void output(const std::string &name, const std::string &tensor) { outputs_[name] = tensor; }

    // Each reads the tensor `x`, names its layers and weights PREFIX.something, and returns the name of its output.
    std::string embedding(const EmbeddingsWithPositionalEncoding &e, const std::string &prefix, const std::string &x,
                          const std::string &position);
    std::string stack(const TransformerLayer &layer, int64_t layers, bool final_norm, const std::string &prefix,
                      const std::string &x, const AttentionInputs &inputs);
    std::string generator(const Generator &g, const std::string &x);

    // The keys and values that a decoder's layers attend to, made from an encoder's memory. They are outputs of this
    // graph and inputs of the decoder's, both named PREFIX.N.source_attention.key and .value.
    void project_source(const TransformerLayer &layer, int64_t layers, const std::string &prefix,
                        const std::string &memory, int64_t channels);
    [[nodiscard]] static std::vector<std::string> source_tensors(const std::string &prefix, int64_t layers);

    [[nodiscard]] Json json() const { return {{"inputs", inputs_}, {"layers", layers_}, {"outputs", outputs_}}; }
    [[nodiscard]] const std::vector<InitialWeight> &weights() const { return weights_; }

  private:
    Json inputs_ = Json::object(), outputs_ = Json::object(), layers_ = Json::array();
    std::vector<InitialWeight> weights_;

    // Repeats layers and weights with {i} in their names.
    void repeat(int64_t count, const Json &layers, const std::vector<InitialWeight> &weights);
};

} // namespace lamina::builder
