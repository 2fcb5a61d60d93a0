// Token ids through the graph of a model that reads texts, many at a time.
#pragma once

#include "plan/graph_plan.hpp"
#include "session/state.hpp"

#include <lamina/tokenizer.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lamina::reading {

// What the model gives for one text.
struct Found {
    Encoding encoding;         // the text's tokens
    std::vector<float> values; // (C), (L), or (tokens, L): without padding; (masks, V)
};

struct Batches {
    size_t most = 32;                                        // texts in one
    size_t uncounted = 0;                                    // how many tokens at the start of each do not count
    std::function<std::string(size_t text)> name{};          // as errors call it; default: "text 1", ...
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
    // Adds what else the graph takes for a batch of these texts, in so many rows of so many tokens.
    std::function<void(std::span<const size_t> texts, int64_t rows, int64_t length, TensorMap &inputs)> more{};
};

// What the model gives for each of these tokens of texts. `model`: that of the session, or of its pages.
[[nodiscard]] std::vector<Found> run(detail::SessionState &session, const model::Reading &model,
                                     std::vector<Encoding> encodings, const Batches &batches);

// Ids (B, T), types (B, T), lengths (B) and starts (B); rows beyond the texts have one token, and nothing comes of
// them.
[[nodiscard]] TensorMap inputs_of(const model::Reading &model, std::span<const Encoding *const> texts, int64_t rows,
                                  int64_t length, size_t uncounted);
// Their shapes.
[[nodiscard]] plan::GraphShapes shapes_of(const model::Reading &reading, int64_t batch, int64_t length);

// The shape of what the model gives for inputs of these shapes. Throws the errors of plan::plan_graph().
[[nodiscard]] Shape shape_of_output(const model::Model &model, const model::Reading &reading,
                                    const abi::Registry &plugins, const plan::GraphShapes &shapes);

// Throws Error(input) unless the model's output for `batch` rows of `length` tokens has this shape: one row for each
// text or token, with one value for each label.
void expect_shape(const model::Model &model, const model::Reading &reading, const Shape &output, int64_t batch,
                  int64_t length);

// Throws Error(input) for a value of a model's output that is NaN or infinite; `what`: "text 3".
void expect_finite(std::span<const float> values, const std::string &what);

} // namespace lamina::reading
