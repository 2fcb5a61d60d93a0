// image.hpp, but for reading files.
#include <lamina/image.hpp>

#include "api/access.hpp"
#include "api/image_prompts.hpp"
#include "generation/generation.hpp"
#include "generation/texts.hpp"
#include "model/place.hpp"
#include "reading/images.hpp"
#include "reading/reading.hpp"

#include <algorithm>

namespace lamina {
namespace {

std::vector<std::vector<float>> rows_of(Session &session, const std::vector<Image> &images, const ImageOptions &options,
                                        model::Images::Gives expected) {
    detail::SessionState &state = detail::Access::state(session);
    const model::Images &model = reading::images_of(*state.model);
    if (model.gives != expected)
        throw Error(ErrorCode::usage,
                    state.model->folder.string() + " does not give " +
                        (expected == model::Images::Gives::classes ? "classes" : "vectors") + " of images but " +
                        (model.gives == model::Images::Gives::texts ? "texts" : "the output '" + model.output + "'"));
    const std::scoped_lock turn(state.turn);
    return reading::read_images(state, images, options);
}

} // namespace

Tensor embed_images(Session &session, const std::vector<Image> &images, const ImageOptions &options) {
    const auto found = rows_of(session, images, options, model::Images::Gives::embedding);
    const auto width = static_cast<int64_t>(found.empty() ? 0 : found.front().size());
    Tensor out(TensorType{DType::f32, {static_cast<int64_t>(images.size()), width}});
    for (size_t i = 0; i < found.size(); ++i)
        std::ranges::copy(found[i], out.f32().begin() + static_cast<std::ptrdiff_t>(i) * width);
    return out;
}

std::vector<std::vector<LabelScore>> classify_images(Session &session, const std::vector<Image> &images,
                                                     const ImageOptions &options) {
    const model::Images &model = reading::images_of(*detail::Access::state(session).model);
    std::vector<std::vector<LabelScore>> out;
    for (const std::vector<float> &each : rows_of(session, images, options, model::Images::Gives::classes))
        out.push_back(reading::labels_of(model.labels, model.scores, each));
    return out;
}

std::vector<std::vector<LabelScore>> match_images(Session &session, const std::vector<Image> &images,
                                                  const std::vector<std::string> &labels, const ImageOptions &options) {
    const model::Model &content = *detail::Access::state(session).model;
    const model::Images &model = reading::images_of(content);
    if (!model.matching)
        throw Error(ErrorCode::usage,
                    content.folder.string() + " does not compare images with texts: it gives " +
                        (model.gives == model::Images::Gives::classes ? "the classes that it was trained for"
                                                                      : "vectors of images alone"));
    const Tensor described = embed(session, reading::sentences_of(labels, options.sentence));
    const auto width = static_cast<size_t>(described.shape().back());
    std::vector<std::vector<LabelScore>> out;
    for (const std::vector<float> &image : rows_of(session, images, options, model::Images::Gives::embedding)) {
        std::vector<float> scores;
        for (size_t t = 0; t < labels.size(); ++t) {
            double product = 0;
            for (size_t c = 0; c < width; ++c)
                product += static_cast<double>(image.at(c)) * described.f32()[t * width + c];
            scores.push_back(static_cast<float>(model.matching->scale * product + model.matching->bias));
        }
        out.push_back(reading::labels_of(labels, model.matching->scores, scores));
    }
    return out;
}

std::vector<int32_t> image_prompt_ids(Session &session, const std::string &prompt, const std::vector<Image> &images,
                                      bool special) {
    detail::SessionState &state = detail::Access::state(session);
    api::ImagePrompt out = api::with_places(*state.model, prompt, images, special);
    generation::expect_ids(*state.model, *state.runtime->plugins, out.ids);
    api::see(state, out, images, {});
    return std::move(out.ids);
}

std::vector<Hypothesis> generate_from_ids(Session &session, const std::vector<int32_t> &ids,
                                          const GenerateOptions &options) {
    detail::SessionState &state = detail::Access::state(session);
    generation::expect_ids(*state.model, *state.runtime->plugins, ids);
    const std::scoped_lock turn(state.turn);
    return generation::generate_from(state, {ids}, options).front();
}

std::vector<std::vector<Hypothesis>> generate_from_images(Session &session, const std::vector<Image> &images,
                                                          const GenerateOptions &options) {
    detail::SessionState &state = detail::Access::state(session);
    const model::Images &model = reading::images_of(*state.model);
    if (model.gives != model::Images::Gives::texts)
        throw Error(ErrorCode::usage, state.model->folder.string() + " does not write texts of images: it " +
                                          model::what_it_does(*state.model));
    for (size_t i = 0; i < images.size(); ++i) reading::expect_pixels(images[i], i);
    std::vector<Tensor> patches;
    for (const Image &image : images)
        patches.push_back(std::move(reading::inputs_of_images(model, {&image, 1}, 1).at(model.patches)));
    std::vector<generation::Source> sources;
    for (const Tensor &each : patches) sources.emplace_back(generation::Patches(each.f32()));
    const std::scoped_lock turn(state.turn);
    return generation::generate_from(state, sources, options);
}

GraphRun image_inputs(const Model &model, const std::vector<Image> &images) {
    const model::Model &content = *detail::Access::model(model);
    const model::Images &format = content.images ? *content.images : reading::images_of(content); // fails
    for (size_t i = 0; i < images.size(); ++i) reading::expect_pixels(images[i], i);
    return {format.graph, reading::inputs_of_images(format, images, static_cast<int64_t>(images.size()))};
}

} // namespace lamina
