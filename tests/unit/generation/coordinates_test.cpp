// Where the tokens of a prompt with images are in time, in rows and in columns.
#include "catch.hpp"

#include "generation/coordinates.hpp"

#include <lamina/error.hpp>

#include <vector>

using namespace lamina;
using generation::Coordinates;

namespace {

using Place = std::array<int32_t, 3>;

// Of so many tokens in columns; `value` tells it from others.
detail::SeenImages::One image_of(detail::SeenImages &images, float value, int64_t tokens, int64_t columns) {
    return images.add(Tensor::of({1, 1, 1}, std::vector<float>{value}), columns,
                      Tensor(TensorType{DType::f32, {1, tokens, 1}}));
}

std::vector<int32_t> ids_of(const detail::SeenImages::One &image) {
    std::vector<int32_t> out;
    for (int64_t row = 0; row < image->tokens(); ++row) out.push_back(static_cast<int32_t>(-1 - image->first - row));
    return out;
}

} // namespace

TEST_CASE("coordinates: words go on after an image by its longer side, and its tokens lie on rows and columns") {
    detail::SeenImages images;
    const auto wide = image_of(images, 1, 6, 3), high = image_of(images, 2, 4, 1);
    std::vector<int32_t> ids{7, 8};
    for (const auto &image : {wide, wide, high}) { // the first one twice, without a word between
        const std::vector<int32_t> tokens = ids_of(image);
        ids.insert(ids.end(), tokens.begin(), tokens.end());
    }
    ids.push_back(9);
    const std::vector<Place> wanted{{0, 0, 0},   {1, 1, 1},                                               // words
                                    {2, 2, 2},   {2, 2, 3}, {2, 2, 4},  {2, 3, 2},  {2, 3, 3}, {2, 3, 4}, // 2 x 3
                                    {5, 5, 5},   {5, 5, 6}, {5, 5, 7},  {5, 6, 5},  {5, 6, 6}, {5, 6, 7}, // again
                                    {8, 8, 8},   {8, 9, 8}, {8, 10, 8}, {8, 11, 8},                       // 4 x 1
                                    {12, 12, 12}};
    for (size_t before = 0; before < ids.size(); ++before) { // wherever a block ends
        Coordinates places(images);
        places.pass(std::span(ids).first(before));
        for (size_t i = before; i < ids.size(); ++i) {
            INFO(i << " after " << before);
            CHECK(places.of(ids[i]) == wanted[i]);
        }
    }
    Coordinates places(images);
    CHECK_THROWS_AS(places.of(-100), Error);
}
