#include "architectures/squares.hpp"

#include "architectures/weight_parts.hpp"

namespace lamina::architectures {

// A convolution of each channel by itself, which takes one row for each of its outputs.
GraphWriter::Tensor rows_side_by_side(Draft &draft, GraphWriter &graph, const std::string &name,
                                      const GraphWriter::Tensor &x, int64_t count, int64_t skipped) {
    const int64_t channels = graph.channels(x), width = skipped + count;
    Tensor ones(TensorType{DType::f32, {channels * count, 1, width}});
    for (int64_t i = 0; i < channels * count; ++i) ones.f32()[static_cast<size_t>(i * width + skipped + i % count)] = 1;
    draft.weights.add(name + ".weight", model::Weight::of(std::move(ones)));
    const GraphWriter::Tensor out =
        graph.layer(name, "grouped_conv1d", {{"x", x}}, {{"groups", channels}, {"stride", count}});
    graph.set_channels(out, channels * count);
    return out;
}

GraphWriter::Tensor averaged(Draft &draft, GraphWriter &graph, const std::string &name, const GraphWriter::Tensor &x,
                             int64_t count, const std::vector<float> &factors, const std::vector<float> &summands) {
    const int64_t width = graph.channels(x);
    Tensor shares(TensorType{DType::f32, {width, 1, count}});
    for (size_t i = 0; i < shares.f32().size(); ++i) {
        const double factor = factors.empty() ? 1 : factors[i / static_cast<size_t>(count)];
        shares.f32()[i] = static_cast<float>(factor / static_cast<double>(count));
    }
    draft.weights.add(name + ".weight", model::Weight::of(std::move(shares)));
    if (!summands.empty()) draft.weights.add(name + ".bias", model::Weight::of(Tensor::of({width}, summands)));
    return graph.layer(name, "grouped_conv1d", {{"x", x}}, {{"groups", width}, {"stride", count}});
}

GraphWriter::Tensor norm_side_by_side(Draft &draft, GraphWriter &graph, const std::string &module,
                                      const GraphWriter::Tensor &x, int64_t count, double eps) {
    const std::string moved = module + ".by_channel";
    for (const char *port : {".weight", ".bias"}) {
        graph.require(module + port, {graph.channels(x)});
        draft.weights.add(moved + port,
                          side_by_side(draft.weights.at(module + port).shaped({1, graph.channels(x)}), count)
                              .shaped({graph.channels(x)}));
        draft.unused.insert(module + port);
    }
    return graph.layer_norm(module, x, {.eps = eps, .module = moved});
}

model::Weight side_by_side(const model::Weight &matrix, int64_t count) {
    const int64_t outputs = matrix.type.shape.front(), inputs = matrix.type.shape.back();
    return transposed_stack(matrix.shaped({outputs, count, inputs / count}), 0, 1).shaped({outputs, inputs});
}

} // namespace lamina::architectures
