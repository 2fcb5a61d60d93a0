// gpt-oss (OpenAI, arXiv:2508.10925): mixtures of experts whose gates are limited, attention with sinks, every other
// layer within a window. Published files have the experts' matrices in MXFP4.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/weight_parts.hpp"
#include "model/mxfp4.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

class Experts {
  public:
    explicit Experts(Draft &draft)
        : draft_(draft), count_(draft.config.positive("num_local_experts")),
          chosen_(draft.config.positive("num_experts_per_tok")), hidden_(draft.config.positive("intermediate_size")),
          width_(draft.config.positive("hidden_size")), alpha_(draft.config.real("swiglu_alpha", 1.702)),
          limit_(draft.config.real("swiglu_limit", 7)) {
        if (chosen_ > count_)
            draft.config.fail("num_experts_per_tok", "expected at most the " + std::to_string(count_) + " experts");
        for (const auto &[key, value] : {std::pair{"swiglu_alpha", alpha_}, {"swiglu_limit", limit_}})
            if (!(value > 0)) draft.config.fail(key, "expected a number above 0");
    }

    [[nodiscard]] Tensor operator()(GraphWriter &graph, const std::string &mlp, const Tensor &x,
                                    const Tensor &residual) const {
        const std::string experts = mlp + ".experts";
        if (!draft_.gguf) split_gates(graph, experts);
        Json weights;
        for (const char *part : {"up", "gate", "down"}) {
            const std::string name = experts + "." + part + "_proj";
            const bool down = std::string_view(part) == "down";
            graph.require(name + ".weight", {count_, down ? width_ : hidden_, down ? hidden_ : width_});
            graph.require(name + ".bias", {count_, down ? width_ : hidden_});
            weights[std::string(part) + "_weight"] = name + ".weight";
            weights[std::string(part) + "_bias"] = name + ".bias";
        }
        const Tensor scores = graph.linear(mlp + ".router", x, {.outputs = count_});
        const Tensor chosen = graph.layer(experts + ".router", "router", {{"x", scores}}, {{"k", chosen_}});
        return graph.layer(experts, "experts",
                           {{"x", x}, {"experts", chosen}, {"shares", chosen + ".weights"}, {"residual", residual}},
                           {{"activation", "silu"}, {"alpha", alpha_}, {"limit", limit_}, {"offset", 1}}, weights);
    }

  private:
    Draft &draft_;
    int64_t count_, chosen_, hidden_, width_;
    double alpha_, limit_;

    // In a folder the columns of gates and of what they multiply take turns, and matrices are transposed, unless they
    // are in MXFP4.
    void split_gates(GraphWriter &graph, const std::string &experts) const {
        model::Weights &weights = draft_.weights;
        const std::string both = experts + ".gate_up_proj", down = experts + ".down_proj";
        const bool quantized = weights.others().contains(both + "_blocks");
        graph.require(both + "_bias", {count_, 2 * hidden_});
        if (!quantized) {
            graph.require(both, {count_, width_, 2 * hidden_});
            graph.require(down, {count_, hidden_, width_});
        }
        for (const auto &[name, first] : {std::pair{".gate_proj", int64_t{0}}, {".up_proj", 1}}) {
            weights.add(experts + name + ".weight",
                        quantized ? model::mxfp4_of_folder(weights, both, {count_, 2 * hidden_, width_, first, 2})
                                  : transposed_stack(weights.at(both), first, 2));
            weights.add(experts + name + ".bias", every(weights.at(both + "_bias"), first, 2));
        }
        weights.add(down + ".weight", quantized ? model::mxfp4_of_folder(weights, down, {count_, width_, hidden_})
                                                : transposed_stack(weights.at(down), 0, 1));
        graph.require(down + "_bias", {count_, width_});
        weights.add(down + ".bias", weights.at(down + "_bias"));
        draft_.unused.insert({both, down, both + "_bias", down + "_bias"});
    }
};

// The attention window of each layer; 0: unlimited.
std::vector<int64_t> windows(const Config &config, int64_t layers) {
    const std::vector<std::string> types = config.layer_types(layers);
    const auto window = config.find("sliding_window");
    std::vector<int64_t> out(static_cast<size_t>(layers));
    for (size_t i = 0; i < out.size(); ++i) {
        if (types.empty() ? i % 2 != 0 : types[i] != "sliding_attention") continue;
        if (!window) config.fail("sliding_window", "expected a number, which layers with sliding_attention need");
        out[i] = config.positive("sliding_window");
    }
    return out;
}

void build(Draft &draft) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size");
    const AttentionHeads heads = AttentionHeads::of(config, width);
    const int64_t vocabulary = config.positive("vocab_size");
    const bool biased = draft.gguf || config.flag("attention_bias");
    const double eps = config.real("rms_norm_eps");
    const std::vector<int64_t> window = windows(config, layers);

    const auto is_given = [&](const char *key) {
        const auto settings = config.find(key);
        return settings && settings->is_object() && settings->members().size() != 0;
    };
    if (!draft.gguf && !is_given("rope_scaling") && !is_given("rope_parameters"))
        config.fail("rope_scaling",
                    "is missing: expected the settings of rotary positions, as published files have them "
                    "(yarn, with a factor of 32)");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies",
                                   rotary(draft, heads.dim, {.truncate = !draft.gguf}), false);
    const Experts experts(draft);
    const std::string table = "model.embed_tokens";
    Tensor x = graph.embedding(table, decoder.ids(), {.rows = vocabulary, .channels = width});
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), self = layer + ".self_attn";
        const std::string stored = self + (draft.gguf ? ".sinks.weight" : ".sinks"), sinks = self + ".heads.sinks";
        graph.require(stored, {heads.count});
        draft.weights.add(sinks, scaled(draft.weights.at(stored), 1)); // attention takes f32
        draft.unused.insert(stored);
        x = decoder.self_attention(self, graph.rms_norm(layer + ".input_layernorm", x, {.eps = eps}),
                                   {.heads = heads,
                                    .biased = biased,
                                    .out_biased = biased,
                                    .rotary = &rotary_layer,
                                    .window = window[static_cast<size_t>(i)],
                                    .sinks = sinks,
                                    .residual = x});
        x = experts(graph, layer + ".mlp", graph.rms_norm(layer + ".post_attention_layernorm", x, {.eps = eps}), x);
    }
    x = graph.rms_norm("model.norm", x, {.eps = eps});
    decoder.add_outputs(x, {.vocabulary = vocabulary, .table = table + ".weight"});
}

constexpr std::array<TensorName, 3> tensors{{
    {"blk.{i}.attn_sinks", "model.layers.{i}.self_attn.sinks"},
    {"blk.{i}.post_attention_norm", "model.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_gate_inp", "model.layers.{i}.mlp.router"},
}};
constexpr std::array<SettingName, 3> settings{{
    {"expert_count", "num_local_experts"},
    {"expert_feed_forward_length", "intermediate_size"},
    {"expert_used_count", "num_experts_per_tok"},
}};

} // namespace

namespace families {

std::span<const Architecture> gpt_oss() {
    static constexpr std::array<Architecture, 1> kinds{{{.model_type = "gpt_oss",
                                                         .build = build,
                                                         .gguf = {"gpt-oss", tensors, settings},
                                                         .base = "model",
                                                         .quantized = "mxfp4"}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
