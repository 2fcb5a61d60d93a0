#include "reading/images.hpp"

#include "image/prepare.hpp"
#include "model/place.hpp"

#include <algorithm>
#include <bit>

namespace lamina::reading {

void expect_pixels(const Image &image, size_t number) {
    const bool sized = image.width > 0 && image.height > 0 && image.width <= INT32_MAX && image.height <= INT32_MAX;
    if (!sized || static_cast<uint64_t>(image.width) * static_cast<uint64_t>(image.height) * 3 != image.pixels.size())
        throw Error(ErrorCode::input, "image " + std::to_string(number + 1) + ": expected 3 values for each of " +
                                          std::to_string(image.width) + " x " + std::to_string(image.height) +
                                          " pixels, at least one, found " + std::to_string(image.pixels.size()) +
                                          " values");
}

namespace {

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

TensorMap inputs_of_images(const model::Images &model, std::span<const Image> images, int64_t rows) {
    Tensor patches(TensorType{DType::f32, {rows, model.patch_count(), model.patch_values()}});
    const auto size = static_cast<size_t>(model.patch_count() * model.patch_values());
    for (size_t i = 0; i < images.size(); ++i)
        image::prepare(images[i], model.steps, patches.f32().subspan(i * size, size));
    return {{model.patches, std::move(patches)}};
}

TensorMap usual_inputs(const model::Images &model) {
    Image picture{model.steps.width, model.steps.height, {}};
    for (int64_t y = 0; y < picture.height; ++y)
        for (int64_t x = 0; x < picture.width; ++x)
            for (const int64_t colour : {x * 255 / picture.width, y * 255 / picture.height, (x ^ y) % 256})
                picture.pixels.push_back(static_cast<uint8_t>(colour));
    return inputs_of_images(model, {&picture, 1}, 1);
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
        expect_shape_of_images(*session.model, output.shape(), rows);
        const auto width = static_cast<size_t>(output.shape().back());
        for (size_t i = 0; i < some.size(); ++i) {
            const auto row = output.f32().subspan(i * width, width);
            out.emplace_back(row.begin(), row.end());
        }
        if (options.progress) options.progress(out.size(), images.size());
    }
    return out;
}

plan::GraphShapes shapes_of(const model::Images &images, int64_t batch) {
    plan::GraphShapes shapes;
    shapes.inputs[images.patches] = {DType::f32, {batch, images.patch_count(), images.patch_values()}};
    return shapes;
}

void expect_shape_of_images(const model::Model &model, const Shape &output, int64_t batch) {
    const model::Images &images = *model.images;
    const bool classes = images.gives == model::Images::Gives::classes;
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
