// What all of Granite's models have in common (IBM): factors, and mixtures of experts.
#pragma once

#include "architectures/mixture.hpp"

#include <array>

namespace lamina::architectures {

// Layers add `residual` times what they compute; here tokens are kept divided by that instead, which a norm does not
// see but for its epsilon.
struct GraniteFactors {
    double embedding = 1, residual = 1;
    double attention = 0; // 0: as usual
    double logits = 1;

    // All are 1 for a model_type without them. Throws Error(input) unless they are above 0.
    static GraniteFactors of(const Config &config, bool of_gguf) {
        if (!config.reads("residual_multiplier")) return {};
        const auto factor = [&](const char *key) {
            const double value = config.real(key);
            if (!(value > 0)) config.fail(key, "expected a number above 0");
            return value;
        };
        const bool usual = of_gguf && !config.has("attention_multiplier");
        return {factor("embedding_multiplier"), factor("residual_multiplier"),
                usual ? 0 : factor("attention_multiplier"), 1 / factor("logits_scaling")};
    }

    // Of the norms of tokens, for "rms_norm_eps" as the file has it.
    [[nodiscard]] double eps(const Config &config) const {
        const double out = config.real("rms_norm_eps") / (residual * residual);
        if (out > 1 && residual == 1) config.fail("rms_norm_eps", "expected at most 1");
        if (out > 1) config.fail("residual_multiplier", "so small a number is not supported with this rms_norm_eps");
        return out;
    }
};

inline constexpr std::array<SettingName, 5> granite_factor_settings{{
    {"attention.scale", "attention_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"logit_scale", "logits_scaling"},
    {"residual_scale", "residual_multiplier"},
    {"rope.scaling.finetuned", "positions_count"}, // false in hybrids
}};

inline constexpr MixtureKind granite_mixture{.block = ".block_sparse_moe",
                                             .router = "router.layer",
                                             .experts = "num_local_experts",
                                             .hidden = "intermediate_size",
                                             .inputs = "input_linear.weight",
                                             .outputs = "output_linear.weight"};
inline constexpr std::array<TensorName, 5> granite_mixture_tensors{{
    {"blk.{i}.ffn_gate_inp", "model.layers.{i}.block_sparse_moe.router.layer"},
    {"blk.{i}.ffn_gate_exps", "model.layers.{i}.block_sparse_moe.experts.gate_proj"},
    {"blk.{i}.ffn_up_exps", "model.layers.{i}.block_sparse_moe.experts.up_proj"},
    {"blk.{i}.ffn_down_exps", "model.layers.{i}.block_sparse_moe.experts.down_proj"},
    {"blk.{i}.ffn_gate_up_exps", "model.layers.{i}.block_sparse_moe.experts.gate_up_proj"},
}};

} // namespace lamina::architectures
