// OLMo (Groeneveld et al., arXiv:2402.00838); OLMo 2 (arXiv:2501.00656) and 3 (arXiv:2512.13961), and EXAONE 4.0
// (arXiv:2507.11407), whose norms come after attention and after the feed-forward layer.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

struct Sizes {
    int64_t layers, width, vocabulary, hidden;
    AttentionHeads heads;
    std::string activation;

    explicit Sizes(const Config &config)
        : layers(config.layers("num_hidden_layers")), width(config.positive("hidden_size")),
          vocabulary(config.positive("vocab_size")), hidden(config.positive("intermediate_size")),
          heads(AttentionHeads::of(config, width)), activation(config.activation("hidden_act")) {}
};

Tensor feed_forward(GraphWriter &graph, const std::string &layer, const Tensor &x, const Sizes &sizes,
                    const Tensor &residual) {
    return graph.feed_forward(layer + ".mlp", x,
                              {.hidden = sizes.hidden,
                               .activation = sizes.activation,
                               .gate = "gate_proj",
                               .residual = residual,
                               .biased = false});
}

// Its norms have no weights.
void build_olmo(Draft &draft) {
    const Config &config = draft.config;
    const Sizes sizes(config);
    const bool biased = config.flag("attention_bias");
    const double eps = draft.gguf ? config.real("layer_norm_eps") : 1e-5, clip = clip_of(config, "clip_qkv");
    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    // GGUF permutes the rows of queries and keys for interleaved rotary pairs.
    const RotaryLayer rotary_layer(draft, "model.rotary.frequencies", rotary(draft, sizes.heads.dim), draft.gguf);
    const auto normed = [&](const std::string &name, const Tensor &x) {
        for (const char *part : {".weight", ".bias"}) graph.require(name + part, {}, false);
        return graph.layer(name, "layer_norm", {{"x", x}}, {{"eps", eps}});
    };
    Tensor x =
        graph.embedding("model.embed_tokens", decoder.ids(), {.rows = sizes.vocabulary, .channels = sizes.width});
    for (int64_t i = 0; i < sizes.layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        x = decoder.self_attention(layer + ".self_attn", normed(layer + ".input_layernorm", x),
                                   {.heads = sizes.heads,
                                    .biased = biased,
                                    .out_biased = biased,
                                    .rotary = &rotary_layer,
                                    .clip = clip,
                                    .residual = x});
        x = feed_forward(graph, layer, normed(layer + ".post_attention_layernorm", x), sizes, x);
    }
    decoder.add_outputs(normed("model.norm", x),
                        {.vocabulary = sizes.vocabulary, .table = "model.embed_tokens.weight"});
}

// The attention window of each layer; 0: unlimited. Where the layers are not listed, the last of every `pattern` has
// none.
std::vector<int64_t> windows(const Config &config, int64_t layers, int64_t window, int64_t pattern) {
    const std::vector<std::string> types = config.layer_types(layers);
    std::vector<int64_t> out;
    for (int64_t i = 0; i < layers; ++i) {
        const bool slides =
            types.empty() ? (i + 1) % pattern != 0 : types[static_cast<size_t>(i)] == "sliding_attention";
        if (slides && !types.empty() && window == 0)
            config.fail("layer_types", "has sliding_attention, which needs a number as \"sliding_window\"");
        out.push_back(slides ? window : 0);
    }
    return out;
}

std::vector<int64_t> windows_of_exaone(const Config &config, int64_t layers, bool of_gguf) {
    const int64_t window = config.find("sliding_window") ? config.positive("sliding_window") : 0;
    const bool listed = config.has("layer_types");
    if (listed) config.ignore({"sliding_window_pattern"});
    if (!listed && window == 0 && !of_gguf)
        config.fail("layer_types", "is missing, which a model without a window needs");
    return windows(config, layers, window, listed || window == 0 ? 1 : config.positive("sliding_window_pattern"));
}

enum class Kind { olmo2, olmo3, exaone };

// "rope_theta" beside "rope_parameters": transformers 5 takes it for the layers without a window alone, older releases
// for all.
void expect_one_theta(const Config &config, const std::vector<int64_t> &window) {
    constexpr double usual = 500000;
    if (!config.states("rope_theta") || config.real("rope_theta") == usual) return;
    const auto kinds = config.object("rope_parameters");
    const auto sliding = kinds ? kinds->object("sliding_attention") : std::nullopt;
    if (sliding && sliding->has("rope_theta")) return;
    if (std::ranges::any_of(window, [](int64_t here) { return here != 0; }))
        config.fail("rope_theta",
                    "releases of transformers differ in which layers this is for; expected 500000, or one for "
                    "each kind of layer in \"rope_parameters\"");
}

// OLMo 2 and 3 normalize queries and keys as a whole, EXAONE 4 each head of them. Where EXAONE 4 has windows, positions
// count in layers with a window only; where OLMo 3 has them, their frequencies are not scaled.
void build_normed_after(Draft &draft, Kind kind) {
    const Config &config = draft.config;
    Sizes sizes(config);
    const double eps = config.real("rms_norm_eps");
    const bool exaone = kind == Kind::exaone;
    const bool biased = !exaone && config.flag("attention_bias");
    std::vector<int64_t> window(static_cast<size_t>(sizes.layers), 0);
    if (exaone) window = windows_of_exaone(config, sizes.layers, draft.gguf);
    if (kind == Kind::olmo3)
        window =
            windows(config, sizes.layers, config.find("sliding_window") ? config.positive("sliding_window") : 0, 4);
    if (exaone) sizes.layers = layers_without_drafts(draft);
    window.resize(static_cast<size_t>(sizes.layers));
    if (kind == Kind::olmo3 && !draft.gguf) expect_one_theta(config, window);
    const bool turned_everywhere = !exaone || !config.find("sliding_window");

    const DecoderGraph decoder(draft);
    GraphWriter &graph = decoder.graph();
    const char *const scaled_name = "model.rotary.frequencies", *const sliding_name = "model.rotary.sliding";
    const bool layered = kind == Kind::olmo3;
    const RotaryLayer scaled(draft, scaled_name,
                             rotary(draft, sizes.heads.dim, {.layers = layered ? "full_attention" : ""}), false);
    const RotaryLayer sliding(draft, sliding_name,
                              rotary(draft, sizes.heads.dim, {.layers = layered ? "sliding_attention" : ""}), false);
    const auto rotary_at = [&](int64_t here) -> const RotaryLayer * {
        if (layered && here != 0) return &sliding;
        return turned_everywhere || here != 0 ? &scaled : nullptr;
    };
    for (const auto &[name, layer] : {std::pair{scaled_name, &scaled}, {sliding_name, &sliding}})
        if (std::ranges::none_of(window, [&](int64_t here) { return rotary_at(here) == layer; }))
            draft.unused.insert(name);
    const auto head_norm = [&](const std::string &module, const Tensor &x, int64_t heads) {
        return graph.rms_norm(module, x, {.eps = eps, .groups = exaone ? heads : 1});
    };
    Tensor x =
        graph.embedding("model.embed_tokens", decoder.ids(), {.rows = sizes.vocabulary, .channels = sizes.width});
    for (int64_t i = 0; i < sizes.layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i);
        const int64_t here = window[static_cast<size_t>(i)];
        const Tensor attended = decoder.self_attention(layer + ".self_attn", x,
                                                       {.heads = sizes.heads,
                                                        .biased = biased,
                                                        .out_biased = biased,
                                                        .norm = head_norm,
                                                        .rotary = rotary_at(here),
                                                        .window = here});
        x = graph.rms_norm(layer + ".post_attention_layernorm", attended, {.eps = eps, .residual = x});
        x = graph.rms_norm(layer + ".post_feedforward_layernorm", feed_forward(graph, layer, x, sizes, ""),
                           {.eps = eps, .residual = x});
    }
    decoder.add_outputs(graph.rms_norm("model.norm", x, {.eps = eps}),
                        {.vocabulary = sizes.vocabulary, .table = "model.embed_tokens.weight"});
}

constexpr std::array<TensorName, 2> tensors{{
    {"blk.{i}.post_attention_norm", "model.layers.{i}.post_attention_layernorm"},
    {"blk.{i}.post_ffw_norm", "model.layers.{i}.post_feedforward_layernorm"},
}};
constexpr std::array<SettingName, 1> exaone_settings{{{"nextn_predict_layers", "nextn_predict_layers"}}};
constexpr std::array<SettingName, 1> olmo_settings{{{"attention.clamp_kqv", "clip_qkv"}}};

} // namespace

namespace families {

std::span<const Architecture> olmo() {
    static constexpr std::array<Architecture, 4> kinds{{
        {"exaone4",
         [](Draft &draft) { build_normed_after(draft, Kind::exaone); },
         {.architecture = "exaone4", .tensors = tensors, .settings = exaone_settings, .divided_frequencies = true},
         "model"},
        {"olmo", build_olmo, {.architecture = "olmo", .settings = olmo_settings}, "model"},
        {"olmo2", [](Draft &draft) { build_normed_after(draft, Kind::olmo2); }, {"olmo2", tensors}, "model"},
        {"olmo3",
         [](Draft &draft) { build_normed_after(draft, Kind::olmo3); },
         {.architecture = "olmo2", .tensors = tensors, .only_with = "attention.sliding_window"},
         "model"},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
