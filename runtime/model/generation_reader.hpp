// Reads what model.json says of generation: the block "generation", whose names are checked against the graphs and the
// vocabularies, and the ids of "tokens".
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

namespace lamina::model {

// Opens the vocabularies and tokenizers that the block names. The graphs must have been read.
[[nodiscard]] Generation read_generation(JsonView value, const Model &model, const TextFiles &files);

// The start and the end that the block names.
[[nodiscard]] OutputTokens named_tokens(JsonView generation, const TextCodec &target);

// {"start": [7, [8, 9]], "end": [1], "suppress": [3], "begin_suppress": []}; what is left out is empty.
[[nodiscard]] OutputTokens read_tokens(JsonView value);

} // namespace lamina::model
