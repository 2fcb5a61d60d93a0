// Reads what model.json says of generation: the block "generation", whose names are checked against the graphs and the
// vocabularies, and the ids of "tokens".
#pragma once

#include "model/json.hpp"
#include "model/model.hpp"

#include <functional>
#include <string>

namespace lamina::model {

// Returns the vocabulary for a file name. Throws Error(input).
using OpenVocabulary = std::function<Vocabulary(const std::string &file)>;

// Opens the vocabularies that the block names, as `model.vocabularies`. The graphs must have been read.
[[nodiscard]] Generation read_generation(const JsonValue &value, Model &model, const OpenVocabulary &open);

// {"start": [7, [8, 9]], "end": [1], "suppress": [3], "begin_suppress": []}; what is left out is empty.
[[nodiscard]] OutputTokens read_tokens(const JsonValue &value);

} // namespace lamina::model
