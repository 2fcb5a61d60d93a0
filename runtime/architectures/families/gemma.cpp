// Gemma (arXiv:2403.08295), Gemma 2 (arXiv:2408.00118) and Gemma 3 (arXiv:2503.19786), for texts.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/rotary.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// Gemma 2 has sliding layers, caps scores, and has norms after attention and the feed-forward layer, too. Gemma 3
// normalizes queries and keys, and its sliding layers have rotary frequencies of their own.
enum class Version { one, two, three };

// Which layers have a sliding window. A GGUF file of Gemma 3 without one, such as Rnj-1, has none in any layer.
std::vector<bool> sliding_layers(const Config &config, int64_t layers, Version version, bool of_gguf) {
    const bool none = of_gguf && version == Version::three && !config.find("sliding_window");
    if (none) config.ignore({"layer_types", "sliding_window_pattern"});
    if (version == Version::one || none) return std::vector<bool>(static_cast<size_t>(layers), false);
    const std::vector<std::string> types = config.layer_types(layers);
    const int64_t pattern = version == Version::two ? 2 : config.positive("sliding_window_pattern");
    std::vector<bool> out;
    for (int64_t i = 0; i < layers; ++i) // without types, every pattern-th layer has full attention
        out.push_back(types.empty() ? (i + 1) % pattern != 0 : types[static_cast<size_t>(i)] == "sliding_attention");
    return out;
}

// Of products of queries and keys; 0: the usual one. GGUF files do not say it: 27 B has another than other sizes
// (llama.cpp, models/gemma2.cpp and gemma3.cpp).
double scale_of(const Config &config, Version version, bool of_gguf) {
    if (version == Version::one) return 0;
    if (of_gguf) {
        const bool large = config.layers("num_hidden_layers") == (version == Version::two ? 46 : 62);
        const int64_t width = config.positive("hidden_size") / config.positive("num_attention_heads");
        return large ? 1 / std::sqrt(static_cast<double>(width)) : 0;
    }
    const double scalar = config.real("query_pre_attn_scalar");
    if (!(scalar > 0)) config.fail("query_pre_attn_scalar", "expected a number above 0");
    return 1 / std::sqrt(scalar);
}

// The first files of Gemma say gelu, and mean its approximation (transformers, configuration_gemma.py).
std::string activation_of(const Config &config, Version version) {
    if (version != Version::one) return config.activation("hidden_activation");
    const std::string name = config.text("hidden_act");
    return config.activation_named("hidden_act", name == "gelu" ? "gelu_pytorch_tanh" : name);
}

void build(Draft &draft, Version version) {
    const Config &config = draft.config;
    const int64_t layers = config.layers("num_hidden_layers"), width = config.positive("hidden_size");
    const int64_t heads = config.positive("num_attention_heads"), kv_heads = config.positive("num_key_value_heads");
    const int64_t head_dim = config.positive("head_dim");
    const int64_t vocabulary = config.positive("vocab_size"), hidden = config.positive("intermediate_size");
    const bool normed_after = version != Version::one;
    const double eps = config.real("rms_norm_eps"), scale = scale_of(config, version, draft.gguf);
    const auto cap_of = [&](const char *key) { return config.reads(key) ? config.real(key, 0) : 0; };
    const double softcap = cap_of("attn_logit_softcapping"), cap = cap_of("final_logit_softcapping");
    const bool biased = config.flag("attention_bias");
    const std::string activation = activation_of(config, version);
    const std::vector<bool> sliding_layer = sliding_layers(config, layers, version, draft.gguf);
    const bool any_slides = std::ranges::find(sliding_layer, true) != sliding_layer.end();
    const bool prompts_see = version != Version::three && draft.images && draft.images->see_each_other; // of PaliGemma
    const bool causal = !config.flag("use_bidirectional_attention") || prompts_see;
    constexpr int64_t usual_window = 4096; // of Gemma 2, in llama.cpp, too: its first GGUF files do not say it
    const bool says_none = draft.gguf && version == Version::two && !config.find("sliding_window");
    int64_t window = says_none                                                      ? usual_window
                     : any_slides || (normed_after && config.has("sliding_window")) ? config.positive("sliding_window")
                                                                                    : 0;
    if (!causal && window != 0) window = window / 2 + 1; // to either side

    const DecoderGraph decoder(draft);
    if (!causal && (decoder.continues() || version != Version::three))
        config.fail("use_bidirectional_attention",
                    "true is supported for Gemma 3 as a model of embeddings alone; expected false");
    draft.causal = causal;
    GraphWriter &graph = decoder.graph();
    const bool layered = version == Version::three;
    const RotaryLayer full(draft, "model.rotary.full",
                           rotary(draft, head_dim, {.layers = layered ? "full_attention" : ""}), false);
    const RotaryKind local{.layers = "sliding_attention", .theta_key = "rope_local_base_freq"};
    const RotaryLayer sliding(draft, "model.rotary.sliding", rotary(draft, head_dim, layered ? local : RotaryKind()),
                              false);
    if (std::ranges::find(sliding_layer, false) == sliding_layer.end()) draft.unused.insert("model.rotary.full");
    if (!any_slides) draft.unused.insert("model.rotary.sliding");
    // Hugging Face's files store a norm's weight minus 1.
    const double offset = draft.gguf ? 0 : 1;
    const auto norm = [&](double epsilon, const Tensor &residual = {}) {
        return GraphWriter::RmsNorm{.eps = epsilon, .weight_offset = offset, .residual = residual};
    };
    const auto head_norm = [&](const std::string &module, const Tensor &heads_of, int64_t count) {
        return graph.rms_norm(module, heads_of, {.eps = eps, .weight_offset = offset, .groups = count});
    };
    Tensor x =
        decoder.embedded("model.embed_tokens",
                         {.rows = vocabulary, .channels = width, .scale = std::sqrt(static_cast<double>(width))}, true);
    for (int64_t i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i), self = layer + ".self_attn";
        const bool slides = sliding_layer[static_cast<size_t>(i)];
        const Tensor attended =
            decoder.self_attention(self, graph.rms_norm(layer + ".input_layernorm", x, norm(eps)),
                                   {.heads = {heads, kv_heads, head_dim},
                                    .biased = biased,
                                    .out_biased = biased,
                                    .norm = version == Version::three ? head_norm : DecoderGraph::HeadNorm(),
                                    .rotary = slides ? &sliding : &full,
                                    .scale = scale,
                                    .softcap = softcap,
                                    .window = slides ? window : 0,
                                    .residual = normed_after ? "" : x,
                                    .causal = causal});
        x = normed_after ? graph.rms_norm(layer + ".post_attention_layernorm", attended, norm(eps, x)) : attended;
        const char *const before = normed_after ? ".pre_feedforward_layernorm" : ".post_attention_layernorm";
        const Tensor fed = graph.feed_forward(layer + ".mlp", graph.rms_norm(layer + before, x, norm(eps)),
                                              {.hidden = hidden,
                                               .activation = activation,
                                               .gate = "gate_proj",
                                               .residual = normed_after ? "" : x,
                                               .biased = false});
        x = normed_after ? graph.rms_norm(layer + ".post_feedforward_layernorm", fed, norm(eps, x)) : fed;
    }
    x = graph.rms_norm("model.norm", x, norm(eps));
    decoder.add_outputs(x, {.vocabulary = vocabulary, .table = "model.embed_tokens.weight", .softcap = cap});
}

// Norms have other names from Gemma 2 on.
constexpr std::array<TensorName, 3> later_tensors{{
    {"blk.{i}.post_attention_norm", "model.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.ffn_norm", "model.layers.{i}.pre_feedforward_layernorm"},
    {"blk.{i}.post_ffw_norm", "model.layers.{i}.post_feedforward_layernorm"},
}};

// Of a file with images, the part for texts, under the names of transformers 5 or older ones; what reads images gets a
// name outside of the base model.
constexpr std::array<Renaming, 5> of_texts{{
    {"model.language_model.", "model."},
    {"model.vision_tower.", "vision_tower."},
    {"model.multi_modal_projector.", "multi_modal_projector."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
}};

} // namespace

namespace families {

std::span<const Architecture> gemma() {
    static constexpr std::array<Architecture, 4> kinds{{
        {"gemma", [](Draft &draft) { build(draft, Version::one); }, {"gemma"}, "model"},
        {"gemma2", [](Draft &draft) { build(draft, Version::two); }, {"gemma2", later_tensors}, "model"},
        {"gemma3_text",
         [](Draft &draft) { build(draft, Version::three); },
         {"gemma3", later_tensors},
         "model",
         of_texts},
        {"gemma3_text",
         [](Draft &draft) { build(draft, Version::three); },
         {.architecture = "gemma-embedding", .tensors = later_tensors, .encoder = true},
         "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
