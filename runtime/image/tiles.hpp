// Large images as tiles, of which a model sees one at a time, and the whole.
#pragma once

#include "image/steps.hpp"

#include <cstdint>
#include <vector>

namespace lamina {
struct Image;
}

namespace lamina::image {

// How images become square tiles. Either the longer side is resized to `longest` pixels, then both to multiples of a
// tile's `side` (transformers, image_processing_idefics3.py). Or an image becomes a grid of `fewest` to `most` tiles,
// in the shape nearest to its own (image_processing_got_ocr2.py).
struct Tiling {
    int64_t longest = 0, side = 0;
    Filter filter = Filter::lanczos;
    int64_t fewest = 0, most = 0; // 0: the first way
    bool split = true; // with the first way; false: the whole alone is seen, once its longer side has its size
};

struct TileGrid {
    int64_t rows = 0, columns = 0; // 0: a single tile holds the image
    [[nodiscard]] int64_t tiles() const { return rows * columns + 1; }
};

[[nodiscard]] TileGrid grid_of(const Image &image, const Tiling &tiling);
// No image has more tiles.
[[nodiscard]] int64_t most_tiles(const Tiling &tiling);

// Row by row, then the whole as one tile.
[[nodiscard]] std::vector<Image> tiles_of(const Image &image, const Tiling &tiling);

} // namespace lamina::image
