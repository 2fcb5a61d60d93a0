#include "reading/image_inputs.hpp"

#include "image/prepare.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace lamina::reading {
namespace {

// Patches of an image of any size, and the windows of them.
struct Grid {
    int64_t rows = 0, columns = 0, merge = 1, side = 0; // side: of a window; 0: there are none

    static Grid of(const model::Images &model, const Image &image) {
        const auto [height, width] = image::size_of(image, model.steps);
        const auto &windows = model.any_size->windows;
        return {height / model.steps.patch, width / model.steps.patch, model.steps.merge, windows ? windows->side : 0};
    }

    [[nodiscard]] int64_t count() const { return rows * columns; }
    [[nodiscard]] int64_t windows_across() const { return (columns + side - 1) / side; }
    [[nodiscard]] int64_t windows() const { return (rows + side - 1) / side * windows_across(); }
    // With filler, so that few programs serve all sizes.
    [[nodiscard]] int64_t filled_up() const { return rounded(count() / (merge * merge)) * merge * merge; }
    [[nodiscard]] int64_t windows_filled_up() const { return rounded(windows()); }

  private:
    // To one of eight numbers between powers of two.
    static int64_t rounded(int64_t number) {
        const auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(number))) / 8;
        return step < 2 ? number : (number + step - 1) / step * step;
    }
};

void add_shapes(const model::Images &model, const Grid &grid, plan::GraphShapes &shapes) {
    const model::AnySize &names = *model.any_size;
    const int64_t count = grid.filled_up(), windows = grid.side == 0 ? 0 : grid.windows_filled_up();
    shapes.inputs[model.patches] = {DType::f32, {1, count, model.patch_values()}};
    shapes.inputs[names.coordinates] = {DType::i32, {1, count, 2}};
    shapes.inputs[names.lengths] = {DType::i32, {1}};
    if (!names.sizes.empty()) shapes.inputs[names.sizes] = {DType::i32, {1, 2}};
    for (const std::string &input : {names.rows, names.columns})
        if (!input.empty()) shapes.inputs[input] = {DType::i32, {1, count}};
    if (!names.windows) return;
    shapes.inputs[names.windows->rows] = {DType::i32, {windows, grid.side * grid.side}};
    shapes.inputs[names.windows->lengths] = {DType::i32, {windows}};
    shapes.inputs[names.windows->places] = {DType::i32, {1, count}};
}

// Filler is the first patch.
void add_windows(const model::AnySize::Windows &names, const Grid &grid, TensorMap &out) {
    const auto rows = out.at(names.rows).i32(), lengths = out.at(names.lengths).i32(),
               places = out.at(names.places).i32();
    std::ranges::fill(lengths, 1);
    std::ranges::fill(lengths.first(static_cast<size_t>(grid.windows())), 0);
    for (int64_t y = 0; y < grid.rows; ++y)
        for (int64_t x = 0; x < grid.columns; ++x) {
            const auto window = static_cast<size_t>(y / grid.side * grid.windows_across() + x / grid.side);
            const auto place =
                window * static_cast<size_t>(grid.side * grid.side) + static_cast<size_t>(lengths[window]++);
            const int64_t patch = image::place_of_patch(y, x, grid.columns, grid.merge);
            rows[place] = static_cast<int32_t>(patch);
            places[static_cast<size_t>(patch)] = static_cast<int32_t>(place);
        }
}

TensorMap inputs_of_any_size(const model::Images &model, const Image &image) {
    const Grid grid = Grid::of(model, image);
    plan::GraphShapes shapes;
    add_shapes(model, grid, shapes);
    TensorMap out;
    for (const auto &[name, type] : shapes.inputs) out[name] = Tensor(type);
    image::prepare(image, model.steps, out.at(model.patches).f32());
    const auto coordinates = out.at(model.any_size->coordinates).i32();
    for (int64_t y = 0; y < grid.rows; ++y)
        for (int64_t x = 0; x < grid.columns; ++x) {
            const auto patch = static_cast<size_t>(image::place_of_patch(y, x, grid.columns, grid.merge));
            coordinates[2 * patch] = static_cast<int32_t>(y), coordinates[2 * patch + 1] = static_cast<int32_t>(x);
        }
    for (const auto &[input, axis] : {std::pair{model.any_size->rows, size_t{0}}, {model.any_size->columns, size_t{1}}})
        for (size_t i = 0; !input.empty() && i < coordinates.size() / 2; ++i)
            out.at(input).i32()[i] = coordinates[2 * i + axis];
    out.at(model.any_size->lengths).i32().front() = static_cast<int32_t>(grid.count());
    if (const std::string &sizes = model.any_size->sizes; !sizes.empty()) {
        out.at(sizes).i32()[0] = static_cast<int32_t>(grid.rows);
        out.at(sizes).i32()[1] = static_cast<int32_t>(grid.columns);
    }
    if (model.any_size->windows) add_windows(*model.any_size->windows, grid, out);
    return out;
}

// The size of a picture that Lamina makes up.
Image size_of_usual_picture(const model::Images &model) {
    if (model.any_size) return {448, 336, {}};
    return {model.steps.width, model.steps.height, {}};
}

} // namespace

void expect_pixels(const Image &image, size_t number) {
    const bool sized = image.width > 0 && image.height > 0 && image.width <= INT32_MAX && image.height <= INT32_MAX;
    if (!sized || static_cast<uint64_t>(image.width) * static_cast<uint64_t>(image.height) * 3 != image.pixels.size())
        throw Error(ErrorCode::input, "image " + std::to_string(number + 1) + ": expected 3 values for each of " +
                                          std::to_string(image.width) + " x " + std::to_string(image.height) +
                                          " pixels, at least one, found " + std::to_string(image.pixels.size()) +
                                          " values");
}

TokenGrid tokens_of(const model::Images &model, const Image &image) {
    if (!model.any_size) return {1, model.tokens};
    const Grid grid = Grid::of(model, image);
    return {grid.rows / grid.merge, grid.columns / grid.merge};
}

TensorMap inputs_of_images(const model::Images &model, std::span<const Image> images, int64_t rows) {
    if (model.any_size) {
        if (images.size() != 1 || rows != 1)
            throw Error(ErrorCode::usage,
                        "the model takes images of any size one at a time, found " + std::to_string(images.size()));
        return inputs_of_any_size(model, images.front());
    }
    Tensor patches(TensorType{DType::f32, {rows, model.patch_count(), model.patch_values()}});
    const auto size = static_cast<size_t>(model.patch_count() * model.patch_values());
    for (size_t i = 0; i < images.size(); ++i)
        image::prepare(images[i], model.steps, patches.f32().subspan(i * size, size));
    return {{model.patches, std::move(patches)}};
}

Image usual_picture(const model::Images &model) {
    Image picture = size_of_usual_picture(model);
    for (int64_t y = 0; y < picture.height; ++y)
        for (int64_t x = 0; x < picture.width; ++x)
            for (const int64_t colour : {x * 255 / picture.width, y * 255 / picture.height, (x ^ y) % 256})
                picture.pixels.push_back(static_cast<uint8_t>(colour));
    return picture;
}

TensorMap usual_inputs(const model::Images &model) {
    const Image picture = usual_picture(model);
    return inputs_of_images(model, {&picture, 1}, 1);
}

plan::GraphShapes shapes_of(const model::Images &model, int64_t batch) {
    plan::GraphShapes shapes;
    if (model.any_size)
        add_shapes(model, Grid::of(model, size_of_usual_picture(model)), shapes);
    else
        shapes.inputs[model.patches] = {DType::f32, {batch, model.patch_count(), model.patch_values()}};
    return shapes;
}

} // namespace lamina::reading
