#include "architectures/image_graph.hpp"

#include "architectures/weight_parts.hpp"
#include "image/prepare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lamina::architectures {
namespace {

// The four values that a bicubic one is made of, as torch.nn.functional.interpolate takes them: those beyond the edge
// repeat it.
struct Four {
    std::array<int64_t, 4> at{};
    std::array<double, 4> weights{};
};

Four four_of(int64_t i, int64_t from, int64_t to) {
    constexpr double a = -0.75;
    const double place = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const double first = std::floor(place), t = place - first;
    const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };      // within 1
    const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }; // from 1 to 2
    Four out{.at = {}, .weights = {far(t + 1), near(t), near(1 - t), far(2 - t)}};
    for (size_t k = 0; k < out.at.size(); ++k)
        out.at[k] = std::clamp<int64_t>(static_cast<int64_t>(first) - 1 + static_cast<int64_t>(k), 0, from - 1);
    return out;
}

// Rows of tokens, then of patches, for another number of patches.
model::Weight resampled(const model::Weight &table, int64_t tokens, const Sides &from, const Sides &to) {
    const model::Weight plain = scaled(table, 1);
    const int64_t width = table.type.shape[1];
    const auto *const values = reinterpret_cast<const float *>(plain.bytes().data()); // in a Tensor, which is aligned
    Tensor out(TensorType{DType::f32, {tokens + to.height * to.width, width}});
    std::copy_n(values, tokens * width, out.f32().begin());
    float *row = out.f32().data() + tokens * width;
    for (int64_t y = 0; y < to.height; ++y)
        for (int64_t x = 0; x < to.width; ++x, row += width) {
            const Four down = four_of(y, from.height, to.height), across = four_of(x, from.width, to.width);
            for (int64_t c = 0; c < width; ++c) {
                double sum = 0;
                for (size_t i = 0; i < 4; ++i)
                    for (size_t k = 0; k < 4; ++k)
                        sum += down.weights[i] * across.weights[k] *
                               values[(tokens + down.at[i] * from.width + across.at[k]) * width + c];
                row[c] = static_cast<float>(sum);
            }
        }
    return model::Weight::of(std::move(out));
}

// Rows of tokens, then of patches row by row, whose order becomes that of images.
model::Weight in_squares(const model::Weight &table, int64_t tokens, const Sides &patches, int64_t merge) {
    const model::Weight plain = scaled(table, 1);
    const int64_t width = table.type.shape[1];
    const auto *const values = reinterpret_cast<const float *>(plain.bytes().data()); // in a Tensor, which is aligned
    Tensor out(plain.type);
    float *const rows = out.f32().data();
    std::copy_n(values, tokens * width, rows);
    for (int64_t y = 0; y < patches.height; ++y)
        for (int64_t x = 0; x < patches.width; ++x)
            std::copy_n(values + (tokens + y * patches.width + x) * width, width,
                        rows + (tokens + image::place_of_patch(y, x, patches.width, merge)) * width);
    return model::Weight::of(std::move(out));
}

} // namespace

ImageGraph::ImageGraph(Draft &draft, const Config &config, bool any_size, const char *graph, const char *size)
    : draft_(&draft), graph_(&draft.graph(graph)) {
    const Sides trained = sides_of(config, size), patch = sides_of(config, "patch_size");
    if (patch.height != patch.width) config.fail("patch_size", "patches that are not square are not supported");
    config.expect("num_channels", 3.0);
    auto preparation = read_preparation(draft, draft.config.text("model_type", ""));
    if (preparation && preparation->size.height == 0)
        config.fail(size, "the model's preprocessor gives images any size, and the model takes one");
    const Sides image = any_size && preparation ? preparation->size : trained;
    if (preparation && (preparation->size.height != image.height || preparation->size.width != image.width))
        config.fail(size, "expected " + std::to_string(preparation->size.height) + " x " +
                              std::to_string(preparation->size.width) +
                              " pixels, the size that the model's preprocessor gives images");
    if (any_size && trained.height != trained.width)
        config.fail(size, "positions of images that are not square are not supported");
    patch_ = patch.height, rows_ = image.height / patch_, columns_ = image.width / patch_;
    trained_rows_ = trained.height / patch_, trained_columns_ = trained.width / patch_;
    for (const Sides &sides : {trained, image})
        if (sides.height < patch_ || sides.width < patch_)
            config.fail(size, "images of " + std::to_string(sides.height) + " x " + std::to_string(sides.width) +
                                  " pixels have no whole patch of " + std::to_string(patch_));
    constexpr int64_t most_patches = 65536; // so that a bad file cannot exhaust memory
    if (patches() > most_patches)
        config.fail("patch_size", "images of " + std::to_string(patches()) + " patches; expected at most " +
                                      std::to_string(most_patches));
    draft.images = ImageInput{.height = image.height,
                              .width = image.width,
                              .patch = patch_,
                              .steps = preparation ? std::move(preparation->steps) : Json(),
                              .output = "",
                              .graph = graph};
    graph_->input("patches", DType::f32, "B " + std::to_string(patches()) + " " + std::to_string(3 * patch_ * patch_),
                  3 * patch_ * patch_);
}

GraphWriter::Tensor ImageGraph::embedded(const std::string &module, int64_t width, bool biased) const {
    const std::string kernel = module + ".weight", matrix = module + ".matrix";
    graph_->require(kernel, {width, 3, patch_, patch_});
    draft_->weights.add(matrix, draft_->weights.at(kernel).shaped({width, 3 * patch_ * patch_}));
    draft_->unused.insert(kernel);
    return graph_->linear(module, "patches", {.outputs = width, .biased = biased, .weight = matrix});
}

GraphWriter::Tensor ImageGraph::with_token(const std::string &token, const GraphWriter::Tensor &x,
                                           const Shape &shape) const {
    graph_->require(token, shape);
    draft_->weights.add(token + ".rows", draft_->weights.at(token).shaped({1, graph_->channels(x)}));
    draft_->unused.insert(token);
    return graph_->layer(token, "prepend", {{"x", x}});
}

GraphWriter::Tensor ImageGraph::learned_positions(const std::string &module, const GraphWriter::Tensor &x,
                                                  int64_t tokens) const {
    const int64_t merge = draft_->images->merge, count = tokens + patches();
    if (merge == 1) return graph_->learned_positions(module, x, "", count);
    const std::string table = module + ".weight", squares = module + ".squares";
    graph_->require(table, {count, graph_->channels(x)});
    draft_->weights.add(squares + ".weight", in_squares(draft_->weights.at(table), tokens, {rows_, columns_}, merge));
    draft_->unused.insert(table);
    return graph_->learned_positions(squares, x, "", count);
}

GraphWriter::Tensor ImageGraph::with_positions(const std::string &positions, const GraphWriter::Tensor &x,
                                               int64_t tokens) const {
    const int64_t trained = trained_rows_ * trained_columns_;
    graph_->require(positions, {1, tokens + trained, graph_->channels(x)});
    model::Weight table = draft_->weights.at(positions).entry(0);
    if (rows_ != trained_rows_ || columns_ != trained_columns_)
        table = resampled(table, tokens, {trained_rows_, trained_columns_}, {rows_, columns_});
    if (const int64_t merge = draft_->images->merge; merge != 1)
        table = in_squares(table, tokens, {rows_, columns_}, merge);
    draft_->weights.add(positions + ".weight", std::move(table));
    draft_->unused.insert(positions);
    return graph_->learned_positions(positions, x, "", tokens + patches());
}

GraphWriter::Tensor ImageGraph::attended(const Config &config, const std::string &module,
                                         const GraphWriter::Tensor &x) const {
    const int64_t heads = config.positive("num_attention_heads");
    const int64_t channels = config.states("head_dim") ? config.positive("head_dim") : graph_->channels(x) / heads;
    const GraphWriter::Linear options{.outputs = heads * channels, .biased = config.flag("qkv_bias")};
    const GraphWriter::Tensor q = graph_->linear(module + ".query", x, options),
                              k = graph_->linear(module + ".key", x, options),
                              v = graph_->linear(module + ".value", x, options);
    return graph_->attention(module + ".heads", q, k, v, {.heads = heads, .kv_heads = heads});
}

void ImageGraph::add_rows(const GraphWriter::Tensor &x, Json place) const {
    const char *const name = "tokens";
    graph_->output(name, x);
    draft_->images->output = name;
    draft_->images->place = std::move(place);
}

void ImageGraph::add_output(const std::string &name, const GraphWriter::Tensor &x, bool classes, Json matching) const {
    graph_->output(name, x);
    draft_->images->output = name;
    draft_->images->classes = classes;
    draft_->images->matching = std::move(matching);
}

} // namespace lamina::architectures
