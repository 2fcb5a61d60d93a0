#include "architectures/grouped_mixture.hpp"

#include "architectures/decoder_graph.hpp"

#include <algorithm>
#include <vector>

namespace lamina::architectures {
namespace {

// Whether the setting counts. A GGUF file that leaves one out has llama.cpp's default, not that of transformers.
bool counts(const Draft &draft, const char *key) { return !draft.gguf || draft.config.has(key); }

// DeepSeek-V2 chooses experts by softmax, the others by sigmoid and with a bias. GGUF files of DeepSeek-V2 and of
// GLM-4.7 Flash do not say which.
bool by_softmax(const Draft &draft) {
    if (!draft.gguf) return draft.config.reads("topk_method");
    constexpr int64_t unknown = 0, sigmoid = 2; // llama.cpp, llama_expert_gating_func_type
    if (const int64_t function = draft.config.integer("scoring_func", unknown); function != unknown)
        return function != sigmoid;
    return std::ranges::none_of(draft.weights.entries(),
                                [](const auto &entry) { return entry.first.ends_with(".exp_probs_b.bias"); });
}

// Which layers have experts.
std::vector<bool> layers_with_experts(const Draft &draft, int64_t layers) {
    const Config &config = draft.config;
    std::vector<bool> out(static_cast<size_t>(layers), true);
    if (!config.reads("mlp_layer_types")) {
        const char *const first = "first_k_dense_replace";
        const int64_t dense = counts(draft, first) ? config.integer(first, 0) : 0;
        for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i) >= dense;
        return out;
    }
    const char *const key = "mlp_layer_types";
    if (!out.empty()) out[0] = false;
    if (!config.find(key)) return out;
    const std::vector<std::string> types = config.texts(key);
    if (types.size() < out.size())
        config.fail(key, "expected " + std::to_string(layers) + " names, one for each layer, found " +
                             std::to_string(types.size()));
    for (size_t i = 0; i < out.size(); ++i) out[i] = types[i] == "sparse";
    return out;
}

// How experts are chosen: parameters of the layer `router`.
Json choice_of(const Draft &draft) {
    const Config &config = draft.config;
    const bool softmax = by_softmax(draft);
    Json choice = Json::object();
    if (counts(draft, "routed_scaling_factor")) choice["scale"] = config.real("routed_scaling_factor");
    if (!softmax) choice["scoring"] = "sigmoid";
    const bool normalizes = !softmax || draft.gguf; // transformers does not for DeepSeek-V2, whatever the file says
    if (!normalizes || !counts(draft, "norm_topk_prob") || !config.flag("norm_topk_prob")) choice["normalize"] = false;
    if (softmax && !draft.gguf) {
        const std::string method = config.text("topk_method");
        if (method != "greedy" && method != "group_limited_greedy")
            config.fail("topk_method", "expected greedy or group_limited_greedy");
        if (method == "greedy") {
            config.ignore({"n_group", "topk_group"});
            return choice;
        }
    }
    const int64_t experts = config.positive("n_routed_experts");
    const int64_t groups = counts(draft, "n_group") ? config.positive("n_group") : 1,
                  kept = counts(draft, "topk_group") ? config.positive("topk_group") : groups;
    const bool two_best = !softmax || draft.gguf;
    if (experts % groups != 0 || (two_best && experts / groups < 2))
        config.fail("n_group", "expected groups of the same size, with two experts or more");
    if (kept > groups) config.fail("topk_group", "expected at most the " + std::to_string(groups) + " groups");
    if (const int64_t found = config.positive("num_experts_per_tok"); found > experts / groups * kept)
        config.fail("num_experts_per_tok", "expected at most the " + std::to_string(experts / groups * kept) +
                                               " experts of topk_group groups");
    if (groups == 1) return choice;
    choice["groups"] = groups, choice["kept_groups"] = kept;
    if (two_best) choice["group_score"] = "two_best";
    return choice;
}

constexpr MixtureKind softmax_kind{.experts = "n_routed_experts"};
constexpr MixtureKind sigmoid_kind{
    .experts = "n_routed_experts", .bias = "gate.e_score_correction_bias", .bias_in_gguf = "exp_probs_b.bias"};

} // namespace

GroupedMixture::GroupedMixture(Draft &draft, int64_t layers)
    : mixture_(draft, by_softmax(draft) ? softmax_kind : sigmoid_kind, choice_of(draft),
               layers_with_experts(draft, layers)),
      hidden_(draft.config.positive("intermediate_size")),
      shared_(draft.config.positive("n_shared_experts") * draft.config.positive("moe_intermediate_size")),
      activation_(draft.config.activation("hidden_act")),
      biased_(draft.config.reads("mlp_bias") && draft.config.flag("mlp_bias")) {}

GraphWriter::Tensor GroupedMixture::operator()(int64_t number, GraphWriter &graph, const GraphWriter::Tensor &normed,
                                               const GraphWriter::Tensor &x) const {
    const std::string layer = "model.layers." + std::to_string(number);
    const bool mixed = mixture_.is_in(number);
    return graph.feed_forward(layer + (mixed ? ".mlp.shared_experts" : ".mlp"), normed,
                              {.hidden = mixed ? shared_ : hidden_,
                               .activation = activation_,
                               .gate = "gate_proj",
                               .residual = mixed ? mixture_(layer, graph, normed, x) : x,
                               .biased = biased_});
}

} // namespace lamina::architectures
