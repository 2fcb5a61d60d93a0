#include "generation/sources.hpp"

#include "generation/audio_inputs.hpp"
#include "generation/generation_shapes.hpp"

#include <algorithm>

namespace lamina::generation {
namespace {

// Pads every source to `length`. The padding stays 0: any token id, silence, or an image that nobody asked for.
template <class T> void copy_rows(const std::vector<Source> &sources, std::span<T> rows, int64_t length) {
    for (size_t r = 0; r < sources.size(); ++r) {
        const auto to = rows.subspan(r * static_cast<size_t>(length));
        std::visit(
            [&](const auto &source) {
                std::ranges::transform(source, to.begin(), [](auto v) { return static_cast<T>(v); });
            },
            sources[r]);
    }
}

} // namespace

size_t length_of(const Source &source) {
    return std::visit([](const auto &values) { return values.size(); }, source);
}

TensorMap encoder_inputs(const model::Model &model, const abi::Registry &plugins, const std::vector<Source> &sources,
                         Rows rows) {
    const model::Generation &g = *model.generation;
    const bool rounded = rows == Rows::of_programs;
    const auto batch = static_cast<int64_t>(rounded ? rounded_rows(sources.size()) : sources.size());
    if (g.source_values) {
        Tensor values(g.source_values->type(batch));
        copy_rows(sources, values.f32(), values.size() / batch);
        return {{g.source_values->input, std::move(values)}};
    }
    const size_t longest = length_of(*std::ranges::max_element(sources, {}, length_of));
    if (g.audio) {
        std::vector<Samples> windows;
        for (const Source &each : sources) windows.push_back(std::get<Samples>(each));
        const auto samples = static_cast<int64_t>(longest);
        return inputs_of_windows(*g.audio, windows, batch,
                                 rounded ? frames_of_program(*g.audio, samples)
                                         : g.audio->frames->lengths.covering(samples));
    }
    const int64_t length = rounded ? source_length(model, plugins, longest) : static_cast<int64_t>(longest);
    Tensor ids(TensorType{DType::i32, {batch, length}}), lengths(TensorType{DType::i32, {batch}});
    copy_rows(sources, ids.i32(), length);
    std::ranges::fill(lengths.i32(), 1); // padding rows have one token
    std::ranges::transform(sources, lengths.i32().begin(),
                           [](const Source &s) { return static_cast<int32_t>(length_of(s)); });
    return {{g.source_ids, std::move(ids)}, {g.source_lengths, std::move(lengths)}};
}

} // namespace lamina::generation
