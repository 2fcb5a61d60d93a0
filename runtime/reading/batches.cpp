#include "reading/batches.hpp"

#include "model/place.hpp"
#include "model/reading_block.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace lamina::reading {
namespace {

// Whether a token is what a query is filled with and no other token sees: no tokenizer put it there.
bool is_unseen(const model::Reading &model, const Encoding &text, size_t token) {
    return text.tokens[token].empty() && std::ranges::any_of(model.roles, [&](const auto &role) {
               return role.second.fill && !role.second.fill->counted && role.second.fill->id == text.ids[token];
           });
}

// How many tokens count; at least one.
int32_t length_of(const model::Reading &model, const Encoding &text) {
    if (model.fill && model.fill->counted) return static_cast<int32_t>(model.fill->length);
    size_t length = text.size();
    while (length > 1 && (model.padding == text.ids[length - 1] || is_unseen(model, text, length - 1))) --length;
    return static_cast<int32_t>(length);
}

// Lengths and rows are rounded up, so that few programs serve all.
int64_t rounded(const model::Reading &model, size_t tokens) {
    if (model.fill) return model.fill->length;
    constexpr size_t multiple = 16;
    return std::min(static_cast<int64_t>((tokens + multiple - 1) / multiple * multiple), model.longest);
}

// Of a batch. Scores of all words for a token take much memory.
size_t most_tokens_of(const model::Reading &model) {
    constexpr size_t usual = 32768, scores = size_t{1} << 26;
    return model.sparse || model.gives == model::Reading::Gives::words
               ? std::clamp<size_t>(scores / std::max<size_t>(model.tokenizer.size(), 1), 1, usual)
               : usual;
}

// As many texts from `first` on, whose lengths never fall, as make a batch: memory follows the tokens, not the texts.
size_t rows_of_batch(const std::vector<Encoding> &texts, const std::vector<size_t> &order, size_t first, size_t most,
                     size_t most_tokens) {
    size_t rows = 1;
    while (rows < most && first + rows < order.size() && (rows + 1) * texts[order[first + rows]].size() <= most_tokens)
        ++rows;
    return rows;
}

// What counts of a text's values, `width` for each token if the model gives something for tokens: those of its tokens,
// or of its masks alone.
std::vector<float> values_of(const model::Reading &model, const Encoding &text, std::span<const float> values,
                             size_t width) {
    if (!model::kind_of(model.gives).of_tokens) return {values.begin(), values.end()};
    if (model.gives != model::Reading::Gives::words)
        return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(text.size() * width)};
    std::vector<float> out;
    for (size_t i = 0; i < text.size(); ++i)
        if (text.ids[i] == model.mask_id) {
            const auto row = values.subspan(i * width, width);
            out.insert(out.end(), row.begin(), row.end());
        }
    return out;
}

} // namespace

TensorMap inputs_of(const model::Reading &model, std::span<const Encoding *const> texts, int64_t rows, int64_t length,
                    size_t uncounted) {
    Tensor ids(TensorType{DType::i32, {rows, length}}), types(ids.type()), lengths(TensorType{DType::i32, {rows}}),
        starts(lengths.type());
    std::fill(lengths.i32().begin(), lengths.i32().end(), 1);
    if (model.fill) std::fill(ids.i32().begin(), ids.i32().end(), model.fill->id);
    for (size_t b = 0; b < texts.size(); ++b) {
        const auto row = static_cast<std::ptrdiff_t>(b) * length;
        std::copy(texts[b]->ids.begin(), texts[b]->ids.end(), ids.i32().begin() + row);
        std::copy(texts[b]->types.begin(), texts[b]->types.end(), types.i32().begin() + row);
        lengths.i32()[b] = length_of(model, *texts[b]);
        starts.i32()[b] = static_cast<int32_t>(uncounted);
    }
    TensorMap out{{model.ids, ids}, {model.lengths, lengths}};
    if (!model.token_types.empty()) out[model.token_types] = types;
    if (!model.starts.empty()) out[model.starts] = starts;
    return out;
}

std::vector<Found> run(detail::SessionState &session, const model::Reading &model, std::vector<Encoding> encodings,
                       const Batches &batches) {
    if (batches.most < 1) throw Error(ErrorCode::usage, "batch: expected at least 1, found 0");
    const size_t most_tokens = most_tokens_of(model);
    std::vector<Found> out(encodings.size());
    std::vector<size_t> order(out.size()); // texts of similar length together
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return encodings[i].size(); });
    for (size_t first = 0; first < order.size();) {
        const auto batch =
            std::span(order).subspan(first, rows_of_batch(encodings, order, first, batches.most, most_tokens));
        std::vector<const Encoding *> rows;
        for (const size_t i : batch) rows.push_back(&encodings[i]);
        const auto height = static_cast<int64_t>(std::bit_ceil(rows.size())),
                   length = rounded(model, rows.back()->size());
        TensorMap inputs = inputs_of(model, rows, height, length, batches.uncounted);
        if (batches.more) batches.more(batch, height, length, inputs);
        const Tensor output = session.surviving_loss([&] { return session.run(model.graph, inputs); }).at(model.output);
        expect_shape(*session.model, model, output.shape(), height, length);
        const size_t stride = output.f32().size() / static_cast<size_t>(output.shape()[0]);
        for (size_t b = 0; b < batch.size(); ++b) {
            out[batch[b]].values = values_of(model, *rows[b], output.f32().subspan(b * stride, stride),
                                             static_cast<size_t>(output.shape().back()));
            expect_finite(out[batch[b]].values,
                          batches.name ? batches.name(batch[b]) : "text " + std::to_string(batch[b] + 1));
        }
        first += batch.size();
        if (batches.progress) batches.progress(first, order.size());
    }
    for (size_t i = 0; i < out.size(); ++i) out[i].encoding = std::move(encodings[i]);
    return out;
}

Shape shape_of_output(const model::Model &model, const model::Reading &reading, const abi::Registry &plugins,
                      const plan::GraphShapes &shapes) {
    const plan::GraphPlan plan = plan::plan_graph(model, model.graphs.at(reading.graph), plugins, shapes);
    return plan.tensors[static_cast<size_t>(plan.outputs.at(reading.output))].type.shape;
}

plan::GraphShapes shapes_of(const model::Reading &reading, int64_t batch, int64_t length) {
    plan::GraphShapes shapes;
    shapes.inputs[reading.ids] = {DType::i32, {batch, length}};
    shapes.inputs[reading.lengths] = {DType::i32, {batch}};
    if (!reading.token_types.empty()) shapes.inputs[reading.token_types] = {DType::i32, {batch, length}};
    if (!reading.starts.empty()) shapes.inputs[reading.starts] = {DType::i32, {batch}};
    return shapes;
}

void expect_finite(std::span<const float> values, const std::string &what) {
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
        throw Error(ErrorCode::input,
                    what + ": a value that the model gives is NaN or infinite; 'lamina compare' finds the layer");
}

void expect_shape(const model::Model &model, const model::Reading &reading, const Shape &output, int64_t batch,
                  int64_t length) {
    const model::ReadingKind &kind = model::kind_of(reading.gives);
    const auto place = [&](const std::string &key) { return model::place_in(model, reading.place + key); };
    const Shape wanted = kind.of_tokens ? Shape{batch, length} : Shape{batch};
    if (output.size() != wanted.size() + 1 || !std::equal(wanted.begin(), wanted.end(), output.begin()))
        throw Error(ErrorCode::input, place(kind.key) + ": expected '" + reading.output + "' to be " + kind.dims +
                                          ", found " + to_string(output) + " for B = " + std::to_string(batch) +
                                          ", T = " + std::to_string(length));
    if (reading.gives == model::Reading::Gives::answers && output.back() != 2)
        throw Error(ErrorCode::input, place(kind.key) + ": expected '" + reading.output + "' to be " + kind.dims +
                                          ", found " + to_string(output));
    if (!reading.labels.empty() && static_cast<int64_t>(reading.labels.size()) != output.back())
        throw Error(ErrorCode::input, place("labels") + ": expected " + std::to_string(output.back()) +
                                          " labels, one for each class of '" + reading.output + "', found " +
                                          std::to_string(reading.labels.size()));
}

} // namespace lamina::reading
