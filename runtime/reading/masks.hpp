// Words for the masks of texts: those that a model finds likeliest where one is missing.
#pragma once

#include "reading/reading.hpp"

namespace lamina::reading {

[[nodiscard]] std::vector<std::vector<MaskedWord>>
fill_masks(detail::SessionState &session, const std::vector<std::string> &texts, const FillOptions &options);

} // namespace lamina::reading
