// The mixtures of experts of a decoder: which of its layers have one, and how a file stores it.
#pragma once

#include "architectures/architecture.hpp"

#include <string>
#include <vector>

namespace lamina::architectures {

// What the models of a type share. Keys are those of config.json.
struct MixtureKind {
    const char *block = "mlp";                    // the module of a layer
    const char *router = "gate";                  // and its router, within
    const char *experts = "num_experts";          // key: how many there are
    const char *hidden = "moe_intermediate_size"; // key: their channels
    // A folder has EXPERTS.0.UP.weight and so on; GGUF files have stacks.
    const char *up = "up_proj", *gate = "gate_proj", *down = "down_proj";
    // A folder has the stacks INPUTS (experts, gate and up, tokens) and OUTPUTS; null: it has not.
    const char *inputs = nullptr, *outputs = nullptr;
    bool or_single = false; // or, if it has neither, experts one by one
    bool normalized = true; // the weights of a token add up to 1, unless config.json says otherwise (norm_topk_prob)
    bool shared = false;    // one more expert, for every token, with a share of its own
};

class Mixture {
  public:
    Mixture(Draft &draft, const MixtureKind &kind);

    // Whether this layer has one. Others have a feed-forward layer.
    [[nodiscard]] bool is_in(int64_t layer) const { return is_in_[static_cast<size_t>(layer)]; }
    // Adds it to the graph. `layer`: the module of the layer.
    [[nodiscard]] GraphWriter::Tensor operator()(const std::string &layer, GraphWriter &graph,
                                                 const GraphWriter::Tensor &x,
                                                 const GraphWriter::Tensor &residual) const;

  private:
    Draft *draft_;
    const MixtureKind *kind_;
    int64_t experts_, chosen_, hidden_;
    std::string activation_;
    Json choice_;
    std::vector<bool> is_in_;

    void stack_experts(const std::string &module, GraphWriter &graph, int64_t width) const;
    [[nodiscard]] GraphWriter::Tensor shared(const std::string &module, GraphWriter &graph,
                                             const GraphWriter::Tensor &x, const GraphWriter::Tensor &residual) const;
};

} // namespace lamina::architectures
