// Two texts as one, of a model that reads them within a text of its own, such as a reranker that answers yes or no.
#pragma once

#include "reading/reading.hpp"

#include <string>

namespace lamina::reading {

// The tokens of that text. `shorten`: of one that is too long for the model, those before its end are cut, as in
// sentence-transformers; what the model's own text ends with stays.
[[nodiscard]] Encoding encode_pair(const model::Reading &model, const std::string &first, const std::string &second,
                                   const std::string &prompt, bool shorten);

} // namespace lamina::reading
