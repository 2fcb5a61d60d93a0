#include "model/place.hpp"

#include <algorithm>

namespace lamina::model {
namespace {

bool has_own_format(const Model &model) { return model.file != model.folder; }

// Whether its graph takes where the words of a page stand.
bool takes_boxes(const Model &model) {
    const auto encode = model.graphs.find("encode");
    return encode != model.graphs.end() &&
           std::ranges::find(encode->second.inputs, "boxes", &GraphInput::name) != encode->second.inputs.end();
}

} // namespace

std::string place_in(const Model &model, std::string_view pointer) {
    return model.file.string() + (has_own_format(model) ? ": " + std::string(pointer) : "");
}

std::string what_it_does(const Model &model) {
    if (model.reading && model.reading->gives == Reading::Gives::answers) return "finds answers to questions in texts";
    if (model.images && model.reading) return "turns images and texts into vectors";
    if (model.images && !model.images->place)
        return std::string("turns images into ") + (model.images->gives == Images::Gives::embedding ? "vectors"
                                                    : model.images->gives == Images::Gives::classes ? "classes"
                                                                                                    : "texts");
    if (model.reading)
        return std::string("turns texts into ") + (model.reading->gives == Reading::Gives::embedding ? "vectors"
                                                   : model.reading->gives == Reading::Gives::token_vectors
                                                       ? "vectors of their tokens"
                                                       : "classes");
    if (model.speech || (model.generation && model.generation->audio)) return "transcribes audio";
    if (model.generation) return model.generation->encode.empty() ? "continues texts" : "turns texts into other texts";
    if (model.pages)
        return "reads pages: give it the image of a page, beside a file with its words and where they stand "
               "(docs/models.md, Pages)";
    if (takes_boxes(model) && !has_own_format(model))
        return "reads pages, but its files do not say how: expected tokenizer.json, preprocessor_config.json and a "
               "head that gives classes or answers; or give it tensors, with --input NAME=FILE.npy (docs/models.md, "
               "Pages)";
    return std::string("takes no texts, because ") +
           (has_own_format(model)
                ? "there is no \"generation\" and no \"reading\" block in its model.json"
                : "there is no tokenizer with it that is known, such as tokenizer.json, or no head that makes "
                  "vectors, classes or texts of its outputs") +
           ": give it tensors, with --input NAME=FILE.npy";
}

} // namespace lamina::model
