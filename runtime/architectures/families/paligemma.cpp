// PaliGemma (Beyer et al., arXiv:2407.07726) and PaliGemma 2 (Steiner et al., arXiv:2412.03555): what SigLIP makes of
// each patch becomes a token of Gemma by one product. All tokens of a prompt see each other, those of images and of
// texts.
#include "architectures/architecture.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/vision_tower.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

// As PaliGemmaProcessor writes a prompt: images, the token that begins a text, the text and a line break.
Json place_of(const Draft &draft, const Config &whole) {
    Json out = image_place(draft, whole, "image_token_index");
    out["together"] = true;
    if (draft.texts && draft.texts->tokenizer) {
        if (draft.texts->bos.empty())
            throw Error(ErrorCode::input, draft.folder.string() +
                                              ": no file names a \"bos_token\", which comes between "
                                              "the images and the text of a prompt");
        out["behind"] = draft.texts->bos;
        out["end"] = "\n";
    }
    return out;
}

// Within a prompt, windows limit nothing in transformers, while Lamina's do: so no text is longer than one.
void limit_texts(Draft &draft) {
    if (!draft.texts || !draft.config.reads("sliding_window")) return;
    if (const auto window = draft.config.optional_integer("sliding_window"))
        draft.texts->context = std::min(draft.texts->context, *window);
}

void see(Draft &draft, const Config &whole) {
    if (!continues_texts(draft)) return; // others read texts alone
    const VisionTower tower(draft, whole, "siglip_vision_model", "vision_tower.");
    if (tower.has_token()) tower.config().fail("model_type", "expected siglip_vision_model");
    const int64_t width = whole.positive("projection_dim");
    if (width != draft.config.positive("hidden_size"))
        whole.fail("projection_dim", "expected " + std::to_string(draft.config.positive("hidden_size")) +
                                         ", the hidden_size of texts, found " + std::to_string(width));
    tower.images().add_rows(tower.graph().linear("multi_modal_projector.linear", tower.last(), {.outputs = width}),
                            place_of(draft, whole));
    draft.images->see_each_other = true;
    limit_texts(draft);
    tower.config().finish();
    whole.ignore({"attention_chunk_size", "hidden_size", "is_causal", "quantization_config",
                  "vocab_size"}); // of the part for texts
    whole.finish();
}

} // namespace

namespace families {

std::span<const Architecture> paligemma() {
    static constexpr std::array<Architecture, 1> kinds{{{.model_type = "paligemma",
                                                         .build = nullptr,
                                                         .renamed = older_names_of_towers,
                                                         .of_texts = any_texts,
                                                         .usual_texts = "gemma",
                                                         .see = see,
                                                         .tied = Architecture::Tied::by_whole}}};
    return kinds;
}

} // namespace families
} // namespace lamina::architectures
