#include "generation/encoded.hpp"

#include "generation/generation_shapes.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

namespace lamina::generation {
namespace {

std::vector<std::string> dims_of(const model::Graph &graph, const std::string &input) {
    std::istringstream dims(std::ranges::find(graph.inputs, input, &model::GraphInput::name)->dims);
    return {std::istream_iterator<std::string>(dims), {}};
}

// The axis of a decoder's input that counts sequences, as the first axis of its token ids does; none if no axis does.
std::optional<size_t> sequence_axis(const model::Generation &model, const model::Graph &decode,
                                    const std::string &input) {
    const std::vector<std::string> dims = dims_of(decode, input);
    const auto at = std::ranges::find(dims, dims_of(decode, model.target_ids).front());
    if (at == dims.end()) return std::nullopt;
    return at - dims.begin();
}

// The tensor whose slice r along the axis is slice from[r] of this one.
Tensor gathered(const Tensor &tensor, size_t axis, const std::vector<size_t> &from) {
    TensorType type = tensor.type();
    const auto slices = static_cast<size_t>(type.shape[axis]);
    size_t outer = 1;
    for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(type.shape[i]);
    const size_t bytes = type.bytes() / (outer * slices);
    type.shape[axis] = static_cast<int64_t>(from.size());
    Tensor out(type);
    auto to = out.bytes().begin();
    for (size_t o = 0; o < outer; ++o)
        for (const size_t slice : from)
            to = std::ranges::copy(tensor.bytes().subspan((o * slices + slice) * bytes, bytes), to).out;
    return out;
}

} // namespace

TensorMap encode(detail::SessionState &session, const std::vector<Source> &sources, size_t rows, size_t batch) {
    const model::Generation &model = *session.model->generation;
    const model::Graph &decode = session.model->graphs.at(model.decode);
    TensorMap inputs = encoder_inputs(*session.model, *session.runtime->plugins, sources, Rows::of_programs);
    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : inputs) shapes.inputs[name] = tensor.type();
    const auto program = session.program(model.encode, shapes);
    for (const auto &[name, tensor] : inputs) program->write(program->plan().inputs.at(name), tensor.bytes());
    session.runtime->working();
    program->run();

    std::vector<size_t> source_of(batch); // by sequence
    for (size_t r = 0; r < rows; ++r) source_of[r] = r / (rows / sources.size());
    TensorMap given;
    const auto give = [&](const std::string &name, Tensor tensor) {
        const auto axis = rows == sources.size() ? std::nullopt : sequence_axis(model, decode, name);
        given[name] = axis ? gathered(tensor, *axis, source_of) : std::move(tensor);
    };
    for (const std::string &name : model.encoded) {
        const int32_t output = program->plan().outputs.at(name);
        Tensor tensor(program->plan().tensors[static_cast<size_t>(output)].type);
        program->read(output, tensor.bytes());
        give(name, std::move(tensor));
    }
    if (model.decode_takes_lengths) give(model.source_lengths, std::move(inputs.at(model.source_lengths)));
    return given;
}

TensorMap encoded_row(const model::Model &model, const TensorMap &given, size_t row) {
    const model::Graph &decode = model.graphs.at(model.generation->decode);
    TensorMap out;
    for (const auto &[name, tensor] : given) {
        const auto axis = sequence_axis(*model.generation, decode, name);
        out[name] = axis ? gathered(tensor, *axis, {row}) : tensor;
    }
    return out;
}

} // namespace lamina::generation
