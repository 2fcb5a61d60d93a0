// SigLIP (Zhai et al., arXiv:2303.15343): as CLIP, but a text describes an image or not, whatever other texts do.
// SigLIP 2 (arXiv:2502.14786) with images of a fixed size is of this type, too.
#include "architectures/architecture.hpp"
#include "architectures/clip_layers.hpp"
#include "architectures/image_graph.hpp"
#include "architectures/sentence_modules.hpp"
#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// Models are trained with texts of one length, whose vectors are read at the end, behind the text itself.
void fill_texts(TextSettings &texts, int64_t positions) {
    if (texts.padded_left)
        throw Error(ErrorCode::input, "tokenizer_config.json: padding_side: 'left' is not supported for models of "
                                      "images and texts; expected 'right'");
    texts.context = std::min({texts.context, texts.tokenizer_limit, positions});
    const std::string pad = texts.pad.empty() ? "</s>" : texts.pad; // transformers, tokenization_siglip.py
    const auto id = texts.tokenizer ? texts.tokenizer->id(pad) : std::nullopt;
    if (!id)
        throw Error(ErrorCode::input, "tokenizer_config.json: pad_token: expected a token of the tokenizer, which "
                                      "fills texts up to " +
                                          std::to_string(texts.context) + ", found '" + pad + "'");
    texts.fill = Json{{"length", texts.context}, {"id", *id}};
    if (texts.masked) texts.fill["counted"] = false;
}

void build_texts(Draft &draft, const Config &config, int64_t outputs) {
    GraphWriter &graph = draft.graph("encode");
    const ClipLayers layers(graph, config, "text_model.");
    const std::string embeddings = "text_model.embeddings.";
    const int64_t positions = config.positive("max_position_embeddings");
    const int64_t width = config.integer("projection_size", layers.width());
    if (width != outputs)
        config.fail("projection_size", "expected " + std::to_string(outputs) + ", the channels of images' vectors");
    const Tensor lengths = graph.input("lengths", DType::i32, "B"), ids = graph.input("ids", DType::i32, "B T");
    Tensor x = graph.embedding(embeddings + "token_embedding", ids,
                               {.rows = config.positive("vocab_size"), .channels = layers.width()});
    x = graph.learned_positions(embeddings + "position_embedding", x, "", positions);
    x = layers.norm("final_layer_norm", layers.all(x, false, lengths));
    graph.output("hidden", x);
    const Tensor last = graph.layer("text_model.last", "pooling", {{"x", x}}, {{"kind", "last"}});
    const Tensor projected = graph.linear("text_model.head", last, {.outputs = outputs});
    graph.output("embedding", normalized_row(graph, draft.weights, "text_embeds", projected));
    if (draft.texts) fill_texts(*draft.texts, positions);
}

// What a learned query, the probe, finds in all patches. It takes the first row, so that it has those of its batch.
Tensor attended(Draft &draft, const ImageGraph &images, const ClipLayers &layers, const Tensor &x) {
    GraphWriter &graph = images.graph();
    const std::string head = layers.prefix() + "head.", attention = head + "attention.", whole = attention + "in_proj_";
    const int64_t width = layers.width();
    graph.require(whole + "weight", {3 * width, width});
    graph.require(whole + "bias", {3 * width});
    const std::array<const char *, 3> names{"q_proj", "k_proj", "v_proj"};
    for (const char *port : {"weight", "bias"}) {
        for (size_t i = 0; i < names.size(); ++i)
            draft.weights.add(attention + names[i] + "." + port,
                              part_of(draft.weights.at(whole + port), static_cast<int64_t>(i), 3));
        draft.unused.insert(whole + port);
    }
    const Tensor q =
        graph.linear(attention + "q_proj", images.with_token(head + "probe", x, {1, 1, width}), {.outputs = width});
    const Tensor k = graph.linear(attention + "k_proj", x, {}), v = graph.linear(attention + "v_proj", x, {});
    const Tensor found =
        graph.attention(attention + "heads", q, k, v, {.heads = layers.heads(), .kv_heads = layers.heads()});
    const Tensor first = graph.layer(head + "first", "pooling", {{"x", found}}, {{"kind", "first"}});
    const Tensor out = graph.linear(attention + "out_proj", first, {});
    return layers.feed_forward("head.mlp", layers.norm("head.layernorm", out), out);
}

// Returns the patches after all layers, (B, N, C).
Tensor build_patches(const ImageGraph &images, const ClipLayers &layers) {
    const std::string embeddings = layers.prefix() + "embeddings.";
    Tensor x = images.embedded(embeddings + "patch_embedding", layers.width(), true);
    x = images.graph().learned_positions(embeddings + "position_embedding", x, "", images.patches());
    x = layers.norm("post_layernorm", layers.all(x, false, ""));
    images.graph().output("hidden", x);
    return x;
}

float number_at(const Draft &draft, const GraphWriter &graph, const std::string &weight) {
    graph.require(weight, {1});
    return numbers_of(draft.weights.at(weight)).front();
}

void build(Draft &draft) {
    if (!draft.task) draft.task = draft.weights.entries().contains("classifier.weight") ? Task::images : Task::none;
    const Config vision = draft.config.part("vision_config", "siglip_vision_model");
    const ImageGraph images(draft, vision);
    const ClipLayers layers(images.graph(), vision, "vision_model.");
    const Tensor x = build_patches(images, layers);
    if (draft.task == Task::images) {
        (void)vision.flag("vision_use_head"); // classes do not follow from it
        for (const auto &[name, weight] : draft.weights.entries())
            if (name.starts_with("vision_model.head.")) draft.unused.insert(name);
        const Tensor mean = images.graph().layer("vision_model.mean", "pooling", {{"x", x}}, {{"kind", "mean"}});
        images.add_output("logits", images.graph().linear("classifier", mean, {.outputs = label_count(draft.config)}),
                          true);
        draft.config.ignore({"text_config", "vision_config"});
    } else if (draft.task == Task::none) {
        vision.expect("vision_use_head", true);
        const Config texts = draft.config.part("text_config", "siglip_text_model");
        draft.config.ignore({"text_config", "vision_config"});
        build_texts(draft, texts, layers.width());
        const Json matching{{"scale", std::exp(double{number_at(draft, images.graph(), "logit_scale")})},
                            {"bias", double{number_at(draft, images.graph(), "logit_bias")}},
                            {"scores", "sigmoid"}};
        for (const char *number : {"logit_scale", "logit_bias"}) draft.unused.insert(number);
        const Tensor found = attended(draft, images, layers, x);
        images.add_output("embedding", normalized_row(images.graph(), draft.weights, "image_embeds", found), false,
                          matching);
        texts.finish();
    } else {
        draft.config.fail("architectures", "this head is not supported; supported: SiglipModel and "
                                           "SiglipForImageClassification");
    }
    vision.finish();
}

} // namespace

namespace families {

std::span<const Architecture> siglip() {
    static constexpr std::array<Architecture, 1> kinds{{{"siglip", build}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
