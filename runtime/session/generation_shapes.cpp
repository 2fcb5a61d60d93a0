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
        if (g.decode_takes_lengths) shapes.inputs[g.source_lengths] = {DType::i32, {batch}};
    }
    shapes.state_length = state_length;
    return shapes;
}

plan::GraphPlan plan_decode_step(const model::Model &model, const abi::Registry &plugins) {
    const model::Generation &g = *model.generation;
    const int64_t batch = 2, length = 1;
    TensorType memory;
    if (!g.encode.empty()) {
        const auto plan = plan::plan_graph(model, model.graphs.at(g.encode), plugins, encode_shapes(g, batch, length));
        memory = plan.tensors[static_cast<size_t>(plan.outputs.at(g.memory))].type;
    }
    return plan::plan_graph(model, model.graphs.at(g.decode), plugins,
                            decode_shapes(g, batch, length, memory, g.max_length + 1));
}

} // namespace lamina::session
