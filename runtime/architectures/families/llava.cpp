// LLaVA (Liu et al., arXiv:2304.08485 and arXiv:2310.03744): what a vision transformer makes of an image's patches
// becomes words of a decoder by two products. Pixtral 12B and Mistral 3 do the same for images of any size.
#include "architectures/architecture.hpp"
#include "architectures/pixtral_tower.hpp"
#include "architectures/vision_tower.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

constexpr const char *of_layers = "vision_feature_layer", *of_strategy = "vision_feature_select_strategy";

// One number, or several.
std::vector<int64_t> layers_of(const Config &whole) {
    const auto value = whole.find(of_layers);
    if (!value) whole.fail(of_layers, "expected a number, or several");
    if (value->is_number()) {
        const int64_t layer = value->integer(INT32_MIN, INT32_MAX);
        if (layer == 0) value->fail("expected a layer, found 0, for which transformers gives nothing");
        return {layer};
    }
    std::vector<int64_t> out;
    for (const JsonView each : value->items()) out.push_back(each.integer(INT32_MIN, INT32_MAX));
    if (out.empty()) value->fail("expected at least one layer");
    return out;
}

// By the channels of one after the other.
Tensor joined_states(GraphWriter &graph, const std::vector<Tensor> &states) {
    Tensor x = states.front();
    const int64_t width = graph.channels(x);
    for (size_t i = 1; i < states.size(); ++i) {
        x = graph.layer("vision_tower.states." + std::to_string(i), "concat", {{"a", x}, {"b", states[i]}});
        graph.set_channels(x, static_cast<int64_t>(i + 1) * width);
    }
    return x;
}

// The two products.
Tensor projected(const Draft &draft, const Config &whole, GraphWriter &graph, const Tensor &x) {
    const std::string projector = "multi_modal_projector.";
    const GraphWriter::Linear options{.outputs = draft.config.positive("hidden_size"),
                                      .biased = whole.flag("multimodal_projector_bias")};
    return graph.linear(
        projector + "linear_2",
        graph.activated(whole.activation("projector_hidden_act"), graph.linear(projector + "linear_1", x, options)),
        options);
}

void finish(const Config &whole) {
    whole.ignore({"quantization_config", "tie_word_embeddings", "vocab_size"}); // of the part for texts
    whole.finish();
}

void see_any_size(Draft &draft, const Config &whole) {
    const PixtralTower tower(draft, whole, 1);
    GraphWriter &graph = tower.graph();
    if (whole.text(of_strategy) != "full") whole.fail(of_strategy, "expected full: images have no class token");
    tower.add_rows(projected(draft, whole, graph, joined_states(graph, tower.states(layers_of(whole), of_layers))));
    finish(whole);
}

void see(Draft &draft, const Config &whole) {
    if (PixtralTower::is_in(whole, false)) return see_any_size(draft, whole);
    const VisionTower tower(draft, whole, "clip_vision_model", "vision_tower.");
    GraphWriter &graph = tower.graph();
    const Tensor x = joined_states(graph, tower.states(layers_of(whole), of_layers));
    const std::string strategy = whole.text(of_strategy);
    if (strategy != "default" && strategy != "full") whole.fail(of_strategy, "expected default or full");
    Json place = image_place(draft, whole, "image_token_index");
    if (strategy == "default") place["skip"] = 1; // the class token
    tower.images().add_rows(projected(draft, whole, graph, x), std::move(place));
    tower.config().finish();
    finish(whole);
}

// Mistral 3 makes one token of a square of patches, by a product of all of them: a convolution whose steps are as wide
// as it is.
void see_squares(Draft &draft, const Config &whole) {
    const int64_t merge = whole.positive("spatial_merge_size");
    if (!PixtralTower::is_in(whole, true)) whole.fail("vision_config", "expected the model_type pixtral");
    const PixtralTower tower(draft, whole, merge);
    GraphWriter &graph = tower.graph();
    const std::vector<int64_t> layers = layers_of(whole);
    if (layers.size() != 1) whole.fail(of_layers, "expected one layer, which is as wide as the norm behind it");
    const Tensor x = graph.rms_norm("multi_modal_projector.norm", tower.states(layers, of_layers).front(),
                                    {.eps = draft.config.real("rms_norm_eps")});
    const std::string module = "multi_modal_projector.patch_merger.merging_layer", weight = module + ".weight",
                      kernel = module + ".kernel";
    const int64_t width = tower.width(), squared = merge * merge;
    graph.require(weight, {width, width * squared});
    graph.require(module + ".bias", {width}, false);
    draft.weights.add(kernel, draft.weights.at(weight).shaped({width, width, squared}));
    draft.unused.insert(weight);
    const Tensor merged = graph.layer(module, "conv1d", {{"x", x}}, {{"stride", squared}}, {{"weight", kernel}});
    tower.add_rows(projected(draft, whole, graph, merged));
    finish(whole);
}

} // namespace

namespace families {

std::span<const Architecture> llava() {
    static constexpr std::array<Architecture, 2> kinds{{{.model_type = "llava",
                                                         .build = nullptr,
                                                         .renamed = older_names_of_towers,
                                                         .of_texts = any_texts,
                                                         .see = see,
                                                         .tied = Architecture::Tied::by_either},
                                                        {.model_type = "mistral3",
                                                         .build = nullptr,
                                                         .renamed = older_names_of_towers,
                                                         .of_texts = any_texts,
                                                         .usual_texts = "mistral",
                                                         .see = see_squares,
                                                         .tied = Architecture::Tied::by_either}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
