// Idefics3 (Laurençon et al., arXiv:2408.12637) and SmolVLM (Marafioti et al., arXiv:2504.05299): what SigLIP makes of
// the patches of a square becomes one token of a decoder, by one product. Large images are seen in tiles, and as a
// whole.
#include "architectures/architecture.hpp"
#include "architectures/clip_layers.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/image_graph.hpp"
#include "architectures/vision_tower.hpp"
#include "architectures/weight_parts.hpp"

#include <array>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// A product of the rows of each square side by side, which follow each other: a convolution whose steps are as wide as
// it is.
Tensor product_of_squares(Draft &draft, GraphWriter &graph, const std::string &module, const Tensor &x, int64_t rows) {
    const int64_t width = graph.channels(x), outputs = draft.config.positive("hidden_size");
    const std::string weight = module + ".weight", kernel = module + ".kernel";
    graph.require(weight, {outputs, rows * width});
    graph.require(module + ".bias", {outputs}, false);
    draft.weights.add(kernel, transposed_stack(draft.weights.at(weight).shaped({outputs, rows, width}), 0, 1));
    draft.unused.insert(weight);
    const Tensor out = graph.layer(module, "conv1d", {{"x", x}}, {{"stride", rows}}, {{"weight", kernel}});
    graph.set_channels(out, outputs);
    return out;
}

void see(Draft &draft, const Config &whole, const char *type_of_part) {
    if (!continues_texts(draft)) return; // others read texts alone
    const Config config = whole.part("vision_config", type_of_part);
    const ImageGraph images(draft, config);
    GraphWriter &graph = images.graph();
    const std::string prefix = "vision_model.", embeddings = prefix + "embeddings.";
    const ClipLayers layers(graph, config, prefix);
    const char *const factor = "scale_factor";
    const int64_t side = whole.positive(factor);
    if (images.rows() != images.columns() || side > images.rows() || images.rows() % side != 0)
        whole.fail(factor, "expected a number that divides the " + std::to_string(images.rows()) + " x " +
                               std::to_string(images.columns()) + " patches of an image, found " +
                               std::to_string(side));
    images.merge(side);
    // transformers finds the row and the column of a patch by rounded quotients. They are those of its position for the
    // numbers of patches that published models have.
    Tensor x = images.embedded(embeddings + "patch_embedding", layers.width(), true);
    x = images.learned_positions(embeddings + "position_embedding", x, 0);
    x = layers.norm("post_layernorm", layers.all(x, false, ""));
    x = product_of_squares(draft, graph, "connector.modality_projection.proj", x, side * side);

    // As Idefics3Processor writes an image and its tiles.
    const char *const token = "image_token_id";
    const std::string image = token_text(draft, whole, token), around = "<fake_token_around_image>";
    images.add_rows(x, {{"token", whole.integer(token)},
                        {"mark", image},
                        {"text", around + "<global-img>" + image + around},
                        {"tile", around + "<row_{row}_col_{column}>" + image}});
    config.ignore({"max_image_size", "size"}); // of the preprocessor
    config.finish();
    whole.ignore({"quantization_config", "vocab_size"}); // of the part for texts
    whole.finish();
}

constexpr std::array<Renaming, 3> names{{
    {"model.text_model.", "model."},
    {"model.vision_model.", "vision_model."},
    {"model.connector.", "connector."},
}};

} // namespace

namespace families {

std::span<const Architecture> idefics3() {
    static constexpr std::array<Architecture, 2> kinds{{
        {.model_type = "idefics3",
         .build = nullptr,
         .renamed = names,
         .of_texts = any_texts,
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, "idefics3_vision"); },
         .tied = Architecture::Tied::by_whole},
        {.model_type = "smolvlm",
         .build = nullptr,
         .renamed = names,
         .of_texts = any_texts,
         .see = [](Draft &draft, const Config &whole) { see(draft, whole, "smolvlm_vision"); },
         .tied = Architecture::Tied::by_whole},
    }};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
