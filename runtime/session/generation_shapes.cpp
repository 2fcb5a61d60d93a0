#include "session/generation_shapes.hpp"

namespace lamina::session {

plan::GraphShapes encode_shapes(const model::Generation &g, int64_t batch, int64_t source_length) {
    plan::GraphShapes shapes;
    shapes.inputs[g.source_ids] = {DType::i32, {batch, source_length}};
    shapes.inputs[g.source_lengths] = {DType::i32, {batch}};
    return shapes;
}

plan::GraphShapes decode_shapes(const model::Generation &g, int64_t batch, int64_t target_length,
                                const TensorType &memory, int64_t state_length) {
    plan::GraphShapes shapes;
    shapes.inputs[g.target_ids] = {DType::i32, {batch, target_length}};
    shapes.inputs[g.position] = {DType::i32, {batch}};
    if (!g.encode.empty()) {
        shapes.inputs[g.memory] = memory;
        shapes.inputs[g.source_lengths] = {DType::i32, {batch}};
    }
    shapes.state_length = state_length;
    return shapes;
}

} // namespace lamina::session
