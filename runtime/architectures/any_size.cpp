#include "architectures/any_size.hpp"

#include <utility>

namespace lamina::architectures {

void add_any_size_inputs(Draft &draft, int64_t patch, int64_t merge, Json steps, Json place) {
    draft.images = ImageInput{.patch = patch,
                              .merge = merge,
                              .steps = std::move(steps),
                              .output = "tokens",
                              .place = std::move(place),
                              .any_size = {{"coordinates", patch_coordinates}, {"lengths", patch_lengths}}};
    GraphWriter &graph = draft.graph("encode_image");
    const int64_t values = 3 * patch * patch;
    graph.input("patches", DType::f32, "B N " + std::to_string(values), values);
    graph.input(patch_coordinates, DType::i32, "B N 2");
    graph.input(patch_lengths, DType::i32, "B");
}

} // namespace lamina::architectures
