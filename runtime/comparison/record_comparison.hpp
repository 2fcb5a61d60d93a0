// Compares a model with what another program recorded of it.
#pragma once

#include "comparison/record.hpp"
#include "session/state.hpp"

#include <lamina/proof.hpp>

namespace lamina::comparison {

// lamina::compare_with_record() of proof.hpp. The session keeps all tensors. `tokens` are those of the record's texts,
// by the model's own tokenizer.
[[nodiscard]] RecordComparison compare(detail::SessionState &session, const Record &record,
                                       const std::vector<std::vector<int32_t>> &tokens);

} // namespace lamina::comparison
