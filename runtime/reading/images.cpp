#include "reading/images.hpp"

#include "model/place.hpp"
#include "reading/reading.hpp"

#include <algorithm>
#include <bit>

namespace lamina::reading {
namespace {

// Of any size: a row for each square of patches.
void expect_shape_of_squares(const model::Model &model, const Shape &output, const Shape &patches) {
    const int64_t merge = model.images->steps.merge;
    const Shape wanted{patches.front(), patches[1] / (merge * merge), model.generation->image_channels};
    if (model.images->place->skip == 0 && output == wanted) return;
    throw Error(ErrorCode::input, model::place_in(model, "/images/tokens") + ": expected '" + model.images->output +
                                      "' to be " + to_string(wanted) + " for patches " + to_string(patches) +
                                      ", and nothing of it skipped, found " + to_string(output));
}

void expect_shape_of_rows(const model::Model &model, const Shape &output, int64_t batch) {
    const int64_t skip = model.images->place->skip, channels = model.generation->image_channels;
    if (output.size() != 3 || output.front() != batch || output[1] <= skip || output.back() != channels)
        throw Error(ErrorCode::input, model::place_in(model, "/images/tokens") + ": expected '" + model.images->output +
                                          "' to be (B, N, " + std::to_string(channels) + ") with N above " +
                                          std::to_string(skip) + ", found " + to_string(output) +
                                          " for B = " + std::to_string(batch));
}

} // namespace

const model::Images &images_of(const model::Model &model) {
    if (!model.images || model.images->place)
        throw Error(ErrorCode::usage,
                    model.folder.string() + " does not take images: it " + model::what_it_does(model));
    return *model.images;
}

std::vector<std::vector<float>> read_images(detail::SessionState &session, const std::vector<Image> &images,
                                            const ImageOptions &options) {
    const model::Images &model = images_of(*session.model);
    if (options.batch < 1) throw Error(ErrorCode::usage, "batch: expected at least 1, found 0");
    for (size_t i = 0; i < images.size(); ++i) expect_pixels(images[i], i);
    std::vector<std::vector<float>> out;
    while (out.size() < images.size()) {
        const auto some = std::span(images).subspan(out.size(), std::min(options.batch, images.size() - out.size()));
        const auto rows = static_cast<int64_t>(std::bit_ceil(some.size())); // so that few programs serve all
        const TensorMap inputs = inputs_of_images(model, some, rows);
        const Tensor output = session.surviving_loss([&] { return session.run(model.graph, inputs); }).at(model.output);
        expect_shape_of_images(*session.model, output.shape(), inputs.at(model.patches).shape());
        const auto width = static_cast<size_t>(output.shape().back());
        for (size_t i = 0; i < some.size(); ++i) {
            const auto row = output.f32().subspan(i * width, width);
            expect_finite(row, "image " + std::to_string(out.size() + 1));
            out.emplace_back(row.begin(), row.end());
        }
        if (options.progress) options.progress(out.size(), images.size());
    }
    return out;
}

void expect_shape_of_images(const model::Model &model, const Shape &output, const Shape &patches) {
    const model::Images &images = *model.images;
    const bool classes = images.gives == model::Images::Gives::classes;
    const int64_t batch = patches.front();
    if (images.any_size) return expect_shape_of_squares(model, output, patches);
    if (images.place) return expect_shape_of_rows(model, output, batch);
    const auto place = [&](const char *key) { return model::place_in(model, std::string("/images/") + key) + ": "; };
    if (output.size() != 2 || output.front() != batch)
        throw Error(ErrorCode::input, place(classes ? "classes" : "embedding") + "expected '" + images.output +
                                          "' to be (B, C), found " + to_string(output) +
                                          " for B = " + std::to_string(batch));
    if (!images.labels.empty() && static_cast<int64_t>(images.labels.size()) != output.back())
        throw Error(ErrorCode::input, place("labels") + "expected " + std::to_string(output.back()) +
                                          " labels, one for each class of '" + images.output + "', found " +
                                          std::to_string(images.labels.size()));
}

} // namespace lamina::reading
