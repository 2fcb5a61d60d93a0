// Gemma 3 with images (arXiv:2503.19786): what SigLIP makes of the patches of a square is averaged and becomes one
// token of the decoder. The tokens of an image see each other.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/squares.hpp"
#include "architectures/vision_tower.hpp"
#include "architectures/weight_parts.hpp"

#include <array>
#include <cmath>

namespace lamina::architectures {
namespace {

using Tensor = GraphWriter::Tensor;

// How many patches of a side become one token.
int64_t patches_of_token(const ImageGraph &images, const Config &whole) {
    const char *const key = "mm_tokens_per_image";
    const int64_t tokens = whole.positive(key);
    const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(tokens)));
    if (images.rows() != images.columns() || side * side != tokens || images.rows() % side != 0)
        whole.fail(key, "expected the square of a number that divides the " + std::to_string(images.rows()) + " x " +
                            std::to_string(images.columns()) + " patches of an image, found " + std::to_string(tokens));
    return images.rows() / side;
}

void see(Draft &draft, const Config &whole) {
    if (!continues_texts(draft)) return; // others read texts alone
    const VisionTower tower(draft, whole, "siglip_vision_model", "vision_tower.");
    GraphWriter &graph = tower.graph();
    const std::string projector = "multi_modal_projector.", product = projector + "mm_input_projection",
                      matrix = product + "_weight";
    const int64_t side = patches_of_token(tower.images(), whole), width = draft.config.positive("hidden_size");
    tower.images().merge(side);
    Tensor x = tower.last();
    if (side != 1) x = averaged(draft, graph, projector + "avg_pool", x, side * side);
    x = graph.rms_norm(projector + "mm_soft_emb_norm", x, {.eps = tower.layers().eps(), .weight_offset = 1});
    graph.require(matrix, {graph.channels(x), width});
    draft.weights.add(product + ".weight", transposed_columns(draft.weights.at(matrix), 0, 1));
    draft.unused.insert(matrix);
    x = graph.linear(product, x, {.outputs = width, .biased = false});

    // As Gemma3Processor writes an image.
    const char *const image = "image_token_index";
    const std::string begin = token_text(draft, whole, "boi_token_index"),
                      end = token_text(draft, whole, "eoi_token_index");
    tower.images().add_rows(x, {{"token", whole.integer(image)},
                                {"mark", begin},
                                {"text", "\n\n" + begin + token_text(draft, whole, image) + end + "\n\n"}});
    draft.images->see_each_other = true;
    tower.config().finish();
    whole.ignore({"attention_chunk_size", "is_causal", "quantization_config", "vocab_size"}); // of the part for texts
    whole.finish();
}

} // namespace

namespace families {

std::span<const Architecture> gemma3() {
    static constexpr std::array<Architecture, 1> kinds{{{.model_type = "gemma3",
                                                         .build = nullptr,
                                                         .renamed = older_names_of_towers,
                                                         .of_texts = "gemma3_text",
                                                         .see = see,
                                                         .tied = Architecture::Tied::by_whole}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
