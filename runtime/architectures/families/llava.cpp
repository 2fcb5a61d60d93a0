// LLaVA (Liu et al., arXiv:2304.08485 and arXiv:2310.03744): what a vision transformer makes of an image's patches
// becomes words of a decoder by two products.
#include "architectures/architecture.hpp"
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

void see(Draft &draft, const Config &whole) {
    const VisionTower tower(draft, whole, "clip_vision_model", "vision_tower.");
    GraphWriter &graph = tower.graph();
    const std::vector<Tensor> states = tower.states(layers_of(whole), of_layers);
    Tensor x = states.front();
    for (size_t i = 1; i < states.size(); ++i) {
        x = graph.layer("vision_tower.states." + std::to_string(i), "concat", {{"a", x}, {"b", states[i]}});
        graph.set_channels(x, static_cast<int64_t>(i + 1) * tower.layers().width());
    }
    const std::string strategy = whole.text(of_strategy), projector = "multi_modal_projector.";
    if (strategy != "default" && strategy != "full") whole.fail(of_strategy, "expected default or full");
    const bool biased = whole.flag("multimodal_projector_bias");
    const int64_t width = draft.config.positive("hidden_size");
    x = graph.activated(whole.activation("projector_hidden_act"),
                        graph.linear(projector + "linear_1", x, {.outputs = width, .biased = biased}));
    x = graph.linear(projector + "linear_2", x, {.outputs = width, .biased = biased});
    Json place = image_place(draft, whole, "image_token_index");
    if (strategy == "default") place["skip"] = 1; // the class token
    tower.images().add_rows(x, std::move(place));
    tower.config().finish();
    whole.ignore({"quantization_config", "tie_word_embeddings", "vocab_size"}); // of the part for texts
    whole.finish();
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
                                                         .tied = Architecture::Tied::by_either}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
