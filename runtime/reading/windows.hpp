// Texts that are too long for a model, in windows that are not, and vectors of these as one.
#pragma once

#include "model/model.hpp"

#include <lamina/texts.hpp>

#include <string>
#include <vector>

namespace lamina::reading {

// As windows_of() of texts.hpp.
[[nodiscard]] std::vector<TextWindow> windows_of(const model::Model &model, const std::vector<std::string> &texts,
                                                 const ReadOptions &options);

// As mean_of_windows() of texts.hpp.
[[nodiscard]] Tensor mean_of(const std::vector<TextWindow> &windows, const Tensor &vectors);

} // namespace lamina::reading
