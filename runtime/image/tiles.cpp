#include "image/tiles.hpp"

#include "image/prepare.hpp"

#include <lamina/image.hpp>

#include <algorithm>
#include <array>

namespace lamina::image {
namespace {

using Sides = std::array<int64_t, 2>; // height and width

// The longer side becomes `longer`, and the other one keeps its ratio to it, rounded down.
Sides with_longer_side(const Sides &from, int64_t longer) {
    const double ratio = static_cast<double>(from[1]) / static_cast<double>(from[0]);
    if (from[1] >= from[0]) return {static_cast<int64_t>(static_cast<double>(longer) / ratio), longer};
    return {longer, static_cast<int64_t>(static_cast<double>(longer) * ratio)};
}

int64_t round_up(int64_t number, int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }

// Once the longer side has its size: sides are even, unless they are 1.
Sides first_size(const Image &image, const Tiling &tiling) {
    Sides out = with_longer_side({image.height, image.width}, tiling.longest);
    int64_t &shorter = image.width >= image.height ? out[0] : out[1];
    shorter = std::max<int64_t>(shorter + shorter % 2, 1);
    return out;
}

// In whole tiles.
Sides last_size(const Sides &first, int64_t side) {
    const Sides out = with_longer_side(first, round_up(std::max(first[0], first[1]), side));
    return {round_up(out[0], side), round_up(out[1], side)};
}

TileGrid grid_of(const Sides &size, int64_t side) {
    if (size[0] <= side && size[1] <= side) return {};
    return {size[0] / side, size[1] / side};
}

Image whole(const Image &image, const Sides &size, Filter filter) {
    return resized(image, size[0], size[1], filter, {0, 0, size[0], size[1]});
}

Image cut_out(const Image &image, int64_t top, int64_t left, int64_t side) {
    Image out{side, side, {}};
    out.pixels.reserve(static_cast<size_t>(side * side * 3));
    for (int64_t y = top; y < top + side; ++y) {
        const auto row = image.pixels.begin() + (y * image.width + left) * 3;
        out.pixels.insert(out.pixels.end(), row, row + side * 3);
    }
    return out;
}

} // namespace

TileGrid grid_of(const Image &image, const Tiling &tiling) {
    return grid_of(last_size(first_size(image, tiling), tiling.side), tiling.side);
}

int64_t most_tiles(const Tiling &tiling) {
    const int64_t along = round_up(tiling.longest, tiling.side) / tiling.side;
    return along == 1 ? 1 : along * along + 1;
}

std::vector<Image> tiles_of(const Image &image, const Tiling &tiling) {
    const Sides first = first_size(image, tiling), last = last_size(first, tiling.side);
    const TileGrid grid = grid_of(last, tiling.side);
    const Image all = whole(whole(image, first, tiling.filter), last, tiling.filter);
    std::vector<Image> out;
    for (int64_t row = 0; row < grid.rows; ++row)
        for (int64_t column = 0; column < grid.columns; ++column)
            out.push_back(cut_out(all, row * tiling.side, column * tiling.side, tiling.side));
    out.push_back(whole(all, {tiling.side, tiling.side}, tiling.filter));
    return out;
}

} // namespace lamina::image
