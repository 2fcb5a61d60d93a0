// The feed-forward layers of decoders like DeepSeek-V3 (DeepSeek-AI, arXiv:2412.19437): plain ones first, then mixtures
// of experts that are chosen within groups, beside some for every token.
#pragma once

#include "architectures/mixture.hpp"

#include <array>

namespace lamina::architectures {

class GroupedMixture {
  public:
    GroupedMixture(Draft &draft, int64_t layers);

    // Adds that of layer `number` to the graph, and x to its result. `normed`: x, as the layer sees it.
    [[nodiscard]] GraphWriter::Tensor operator()(int64_t number, GraphWriter &graph, const GraphWriter::Tensor &normed,
                                                 const GraphWriter::Tensor &x) const;

  private:
    Mixture mixture_;
    int64_t hidden_, shared_; // channels of a plain layer, and of the experts for every token together
    std::string activation_;
    bool biased_; // the matrices of feed-forward layers; those of experts are not
};

// In GGUF files.
inline constexpr std::array<TensorName, 4> grouped_mixture_tensors{{
    {"blk.{i}.exp_probs_b", "model.layers.{i}.mlp.exp_probs_b"},
    {"blk.{i}.ffn_gate_shexp", "model.layers.{i}.mlp.shared_experts.gate_proj"},
    {"blk.{i}.ffn_up_shexp", "model.layers.{i}.mlp.shared_experts.up_proj"},
    {"blk.{i}.ffn_down_shexp", "model.layers.{i}.mlp.shared_experts.down_proj"},
}};
inline constexpr std::array<SettingName, 11> grouped_mixture_settings{{
    {"expert_count", "n_routed_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_gating_func", "scoring_func"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_weights_norm", "norm_topk_prob"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"nextn_predict_layers", "nextn_predict_layers"},
}};

} // namespace lamina::architectures
