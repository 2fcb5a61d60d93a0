// CLIP (Radford et al., arXiv:2103.00020): vectors of texts and of images, whose products say how well a text describes
// an image.
#include "architectures/architecture.hpp"
#include "architectures/clip_layers.hpp"
#include "architectures/image_graph.hpp"
#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// A text's vector is read at its first "eos_token_id", which must be how the tokenizer ends texts: their last token. In
// older files it is 2, and then the token with the highest id is meant (transformers, modeling_clip.py).
void check_end(const Draft &draft, const Config &config) {
    constexpr const char *key = "eos_token_id";
    const std::vector<int32_t> ends = config.ids(key);
    const auto highest = static_cast<int32_t>(config.positive("vocab_size") - 1);
    const int32_t end = ends == std::vector{2} ? highest : ends.size() == 1 ? ends.front() : -1;
    int32_t last = highest; // of texts, where no tokenizer says it
    if (draft.texts && draft.texts->tokenizer) {
        const std::vector<int32_t> ids = draft.texts->tokenizer->encode("a").ids;
        last = ids.empty() ? -1 : ids.back();
    }
    if (end != last)
        config.fail(key, "expected " + std::to_string(last) + ", the token that texts end with, or 2 if that is " +
                             std::to_string(highest));
}

// The last token, which ends a text, has seen all of it.
void build_texts(Draft &draft, const Config &config, int64_t outputs) {
    GraphWriter &graph = draft.graph("encode");
    const ClipLayers half(graph, config, "text_model.");
    const std::string embeddings = "text_model.embeddings.";
    const int64_t positions = config.positive("max_position_embeddings");
    check_end(draft, config);
    const Tensor lengths = graph.input("lengths", DType::i32, "B"), ids = graph.input("ids", DType::i32, "B T");
    Tensor x = graph.embedding(embeddings + "token_embedding", ids,
                               {.rows = config.positive("vocab_size"), .channels = half.width()});
    x = graph.learned_positions(embeddings + "position_embedding", x, "", positions);
    x = half.norm("final_layer_norm", half.all(x, true, lengths));
    graph.output("hidden", x);
    const Tensor last = graph.layer("text_model.last", "pooling", {{"x", x}, {"lengths", lengths}}, {{"kind", "last"}});
    const Tensor projected = graph.linear("text_projection", last, {.outputs = outputs, .biased = false});
    graph.output("embedding", normalized_row(graph, draft.weights, "text_embeds", projected));
    if (draft.texts) draft.texts->context = std::min(draft.texts->context, positions);
}

void build_images(Draft &draft, const Config &config, int64_t outputs, Json matching) {
    const ImageGraph images(draft, config);
    GraphWriter &graph = images.graph();
    const ClipLayers half(graph, config, "vision_model.");
    const std::string embeddings = "vision_model.embeddings.";
    Tensor x = images.embedded(embeddings + "patch_embedding", half.width(), false);
    x = images.with_token(embeddings + "class_embedding", x, {half.width()});
    x = graph.learned_positions(embeddings + "position_embedding", x, "", images.patches() + 1);
    x = half.all(half.norm("pre_layrnorm", x), false, "");
    graph.output("hidden", x);
    const Tensor first = graph.layer("vision_model.first", "pooling", {{"x", x}}, {{"kind", "first"}});
    const Tensor projected =
        graph.linear("visual_projection", half.norm("post_layernorm", first), {.outputs = outputs, .biased = false});
    images.add_output("embedding", normalized_row(graph, draft.weights, "image_embeds", projected), false,
                      std::move(matching));
}

// Older files have the settings of a part twice, and then these count (transformers, configuration_clip.py).
Config part_of(const Config &config, const std::string &part) {
    const std::string older = part + "_config_dict";
    const Config out = config.part(config.has(older) ? older : part + "_config", "clip_" + part + "_model");
    config.ignore({older.c_str(), (part + "_config").c_str()});
    out.ignore({"projection_dim"}); // that of the whole counts
    return out;
}

void build(Draft &draft) {
    if (draft.task && draft.task != Task::none)
        draft.config.fail("architectures", "this head is not supported; supported: CLIPModel");
    const Config texts = part_of(draft.config, "text"), images = part_of(draft.config, "vision");
    const int64_t outputs = draft.config.positive("projection_dim");
    const float logarithm = numbers_of(draft.weights.at("logit_scale").shaped({1})).front();
    draft.unused.insert("logit_scale");
    build_texts(draft, texts, outputs);
    build_images(draft, images, outputs, Json{{"scale", std::exp(double{logarithm})}, {"scores", "softmax"}});
    texts.finish();
    images.finish();
}

} // namespace

namespace families {

std::span<const Architecture> clip() {
    static constexpr std::array<Architecture, 1> kinds{{{"clip", build}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
