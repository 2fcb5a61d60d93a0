// What the decoder is given of the sources.
#pragma once

#include "generation/sources.hpp"
#include "session/state.hpp"

#include <vector>

namespace lamina::generation {

// Runs the encoder. Returns those inputs of the decode graph that depend on the sources: outputs of the encoder and the
// lengths of the sources, for a program of `batch` sequences. The first `rows` of them are shared out to the sources in
// turn, equally many each, so a source is encoded once however many beams continue it; the others may hold anything.
[[nodiscard]] TensorMap encode(detail::SessionState &session, const std::vector<Source> &sources, size_t rows,
                               size_t batch);

// The part of it for one sequence, as a program of one takes it.
[[nodiscard]] TensorMap encoded_row(const model::Model &model, const TensorMap &given, size_t row);

} // namespace lamina::generation
