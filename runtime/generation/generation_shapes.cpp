#include "generation/generation_shapes.hpp"

#include "generation/audio_inputs.hpp"
#include "generation/texts.hpp"

#include <algorithm>
#include <bit>

namespace lamina::generation {

plan::GraphShapes encode_shapes(const model::Generation &g, int64_t batch, int64_t source_length) {
    plan::GraphShapes shapes;
    if (g.source_values) {
        shapes.inputs[g.source_values->input] = g.source_values->type(batch);
        return shapes;
    }
    if (g.audio) return shapes_of(*g.audio, batch, source_length);
    shapes.inputs[g.source_ids] = {DType::i32, {batch, source_length}};
    shapes.inputs[g.source_lengths] = {DType::i32, {batch}};
    return shapes;
}

plan::GraphShapes decode_shapes(const model::Generation &g, int64_t batch, int64_t target_length,
                                const TensorTypes &encoded, int64_t state_length) {
    plan::GraphShapes shapes;
    shapes.inputs[g.target_ids] = {DType::i32, {batch, target_length}};
    shapes.inputs[g.position] = {DType::i32, {batch}};
    if (g.recurrent()) shapes.inputs[g.target_lengths] = {DType::i32, {batch}};
    if (g.sees()) {
        shapes.inputs[g.image_rows] = {DType::f32, {batch, target_length, g.image_channels}};
        shapes.inputs[g.image_mask] = {DType::i32, {batch, target_length}};
    }
    if (g.sees_ahead()) shapes.inputs[g.image_ahead] = {DType::i32, {batch, target_length}};
    if (!g.coordinates.empty()) shapes.inputs[g.coordinates] = {DType::i32, {batch, target_length, 3}};
    for (const auto &[name, type] : encoded) shapes.inputs[name] = type;
    if (g.decode_takes_lengths) shapes.inputs[g.source_lengths] = {DType::i32, {batch}};
    shapes.state_length = state_length;
    return shapes;
}

int64_t rounded_length(size_t tokens) {
    constexpr int64_t multiple = 8;
    return (static_cast<int64_t>(tokens) + multiple - 1) / multiple * multiple;
}

size_t rounded_rows(size_t rows) { return std::bit_ceil(rows); }

int64_t source_length(const model::Model &model, const abi::Registry &plugins, size_t tokens) {
    const int64_t rounded = rounded_length(tokens);
    return takes_sources(model, plugins, static_cast<size_t>(rounded)) ? rounded : static_cast<int64_t>(tokens);
}

plan::GraphPlan plan_decode_step(const model::Model &model, const abi::Registry &plugins, int64_t source_length) {
    const model::Generation &g = *model.generation;
    const int64_t batch = 2, length = 1;
    TensorTypes encoded;
    if (!g.encode.empty()) {
        const auto plan =
            plan::plan_graph(model, model.graphs.at(g.encode), plugins, encode_shapes(g, batch, source_length));
        for (const std::string &name : g.encoded)
            encoded[name] = plan.tensors[static_cast<size_t>(plan.outputs.at(name))].type;
    }
    return plan::plan_graph(model, model.graphs.at(g.decode), plugins,
                            decode_shapes(g, batch, length, encoded, g.max_length + 1));
}

int64_t end_of_values(const plan::GraphPlan &plan, const std::string &input) {
    const int32_t tensor = plan.inputs.at(input);
    int64_t end = INT32_MAX;
    for (const plan::Step &step : plan.steps)
        for (uint32_t port = 0; port < step.in.size(); ++port)
            if (const auto range = step.in[port] == tensor ? step.call.values(abi::PortList::in, port) : std::nullopt)
                end = std::min(end, range->second);
    return end;
}

} // namespace lamina::generation
