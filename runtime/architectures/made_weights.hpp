// Weights that follow from others. They are computed when they are first read: by a session, or by whoever writes the
// model to a file.
#pragma once

#include "model/weights.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace lamina::architectures {

// What a layer norm makes of each row of a table (rows, C), as f32. `weight` and `bias`: (C).
[[nodiscard]] model::Weight normalized_rows(const model::Weight &table, const model::Weight &weight,
                                            const model::Weight &bias, double eps);

// What a linear layer makes of each row of a table (rows, K), as f32. `weight`: (N, K), of any dtype; `bias`: (N), or
// none.
[[nodiscard]] model::Weight projected_rows(const model::Weight &table, const model::Weight &weight,
                                           const std::optional<model::Weight> &bias);

// What `fill` makes of the values of other weights, as f32; it is given zeros.
using ValuesOf = std::vector<std::span<const float>>;
[[nodiscard]] model::Weight made_of_values(const Shape &shape, const std::vector<model::Weight> &parts,
                                           std::function<void(const ValuesOf &parts, std::span<float> to)> fill);

} // namespace lamina::architectures
