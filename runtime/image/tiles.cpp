#include "image/tiles.hpp"

#include "image/prepare.hpp"

#include <lamina/image.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

// Of the grids of so many tiles, the one whose shape is nearest to the image's. Of several that are as near, the first
// is that of the fewest tiles, and a later one counts if the image has more than half of its pixels.
TileGrid nearest_grid(const Image &image, const Tiling &tiling) {
    const double shape = static_cast<double>(image.width) / static_cast<double>(image.height),
                 pixels = static_cast<double>(image.width) * static_cast<double>(image.height),
                 of_tile = static_cast<double>(tiling.side) * static_cast<double>(tiling.side);
    TileGrid out{1, 1};
    double nearest = std::numeric_limits<double>::infinity();
    for (int64_t tiles = tiling.fewest; tiles <= tiling.most; ++tiles)
        for (int64_t columns = 1; columns <= tiles; ++columns) {
            if (tiles % columns != 0) continue;
            const int64_t rows = tiles / columns;
            const double distance = std::abs(shape - static_cast<double>(columns) / static_cast<double>(rows));
            const bool large = pixels > 0.5 * of_tile * static_cast<double>(columns) * static_cast<double>(rows);
            if (distance < nearest || (distance == nearest && large)) out = {rows, columns};
            nearest = std::min(nearest, distance);
        }
    return out.tiles() == 2 ? TileGrid() : out;
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
    if (tiling.most != 0) return nearest_grid(image, tiling);
    return tiling.split ? grid_of(last_size(first_size(image, tiling), tiling.side), tiling.side) : TileGrid();
}

int64_t most_tiles(const Tiling &tiling) {
    if (tiling.most != 0) return tiling.most == 1 ? 1 : tiling.most + 1;
    const int64_t along = round_up(tiling.longest, tiling.side) / tiling.side;
    return along == 1 || !tiling.split ? 1 : along * along + 1;
}

std::vector<Image> tiles_of(const Image &image, const Tiling &tiling) {
    const TileGrid grid = grid_of(image, tiling);
    const int64_t side = tiling.side;
    Image all = image; // as the whole is made of it
    if (tiling.most == 0) {
        const Sides first = first_size(image, tiling);
        all = whole(all, first, tiling.filter);
        if (tiling.split) all = whole(all, last_size(first, side), tiling.filter);
    }
    const bool by_shape = tiling.most != 0 && grid.rows != 0;
    const Image tiled = by_shape ? whole(image, {grid.rows * side, grid.columns * side}, tiling.filter) : all;
    std::vector<Image> out;
    for (int64_t row = 0; row < grid.rows; ++row)
        for (int64_t column = 0; column < grid.columns; ++column)
            out.push_back(cut_out(tiled, row * side, column * side, side));
    out.push_back(whole(all, {side, side}, tiling.filter));
    return out;
}

} // namespace lamina::image
