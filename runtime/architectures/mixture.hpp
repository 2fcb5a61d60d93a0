// The mixtures of experts of a decoder: which of its layers have one, and how a file stores it.
#pragma once

#include "architectures/architecture.hpp"

#include <string>
#include <vector>

namespace lamina::architectures {

// What the models of a type share. Keys are those of config.json.
struct MixtureKind {
    const char *block = ".mlp";                                             // the module of a layer, after its name
    const char *router = "gate";                                            // and its router, within
    const char *experts = "num_experts";                                    // key: how many there are
    const char *hidden = "moe_intermediate_size";                           // key: their channels
    const char *chosen = "num_experts_per_tok", *activation = "hidden_act"; // keys; without one for it, it is SiLU
    // A folder has EXPERTS.0.UP.weight and so on; GGUF files have stacks.
    const char *up = "up_proj", *gate = "gate_proj", *down = "down_proj";
    // A folder has the stacks INPUTS (experts, gate and up, tokens) and OUTPUTS; null: it has not.
    const char *inputs = nullptr, *outputs = nullptr;
    bool or_single = false; // or, if it has neither, experts one by one
    bool turned = false;    // the stacks have their last two axes the other way round, or as above
    bool normalized = true; // the weights of a token add up to 1, unless config.json says otherwise (norm_topk_prob)
    bool shared = false;    // one more expert, for every token, with a share of its own
    // A tensor that is added to the scores for the choice, in a folder and in GGUF files; null: nothing is.
    const char *bias = nullptr, *bias_in_gguf = nullptr;
    const char *factors = nullptr; // a tensor that the weights of experts are multiplied with; null: they are not
};

class Mixture {
  public:
    // By "norm_topk_prob", "decoder_sparse_step" and "mlp_only_layers".
    Mixture(Draft &draft, const MixtureKind &kind);
    // choice: parameters of the layer `router` beside k. is_in: for each layer.
    Mixture(Draft &draft, const MixtureKind &kind, Json choice, std::vector<bool> is_in);

    // Whether this layer has one. Others have a feed-forward layer.
    [[nodiscard]] bool is_in(int64_t layer) const { return is_in_[static_cast<size_t>(layer)]; }
    // Adds it to the graph. `layer`: the module of the layer. `scored`: what the router sees, if it is not x.
    [[nodiscard]] GraphWriter::Tensor operator()(const std::string &layer, GraphWriter &graph,
                                                 const GraphWriter::Tensor &x, const GraphWriter::Tensor &residual,
                                                 const GraphWriter::Tensor &scored = {}) const;

  private:
    Draft *draft_;
    const MixtureKind *kind_;
    int64_t experts_, chosen_, hidden_;
    std::string activation_;
    Json choice_;
    std::vector<bool> is_in_;

    // Of a stack (experts, outputs, inputs). Returns whether the file has it as (experts, inputs, outputs).
    [[nodiscard]] bool require_stack(GraphWriter &graph, const std::string &name, const Shape &shape) const;
    // Makes EXPERTS.gate_proj and .up_proj of the stack `inputs`.
    void split_stack(GraphWriter &graph, const std::string &experts, const std::string &inputs, int64_t width) const;
    void stack_experts(const std::string &module, GraphWriter &graph, int64_t width) const;
    [[nodiscard]] GraphWriter::Tensor shared(const std::string &module, GraphWriter &graph,
                                             const GraphWriter::Tensor &x, const GraphWriter::Tensor &residual) const;
};

} // namespace lamina::architectures
