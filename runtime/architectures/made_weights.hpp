// Weights that follow from others. They are computed when they are first read: by a session, or by whoever writes the
// model to a file.
#pragma once

#include "model/weights.hpp"

#include <optional>

namespace lamina::architectures {

// What a layer norm makes of each row of a table (rows, C), as f32. `weight` and `bias`: (C).
[[nodiscard]] model::Weight normalized_rows(const model::Weight &table, const model::Weight &weight,
                                            const model::Weight &bias, double eps);

// What a linear layer makes of each row of a table (rows, K), as f32. `weight`: (N, K), of any dtype; `bias`: (N), or
// none.
[[nodiscard]] model::Weight projected_rows(const model::Weight &table, const model::Weight &weight,
                                           const std::optional<model::Weight> &bias);

} // namespace lamina::architectures
