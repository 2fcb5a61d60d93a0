// Reads the "generation" block of model.json, and checks every name in it against the graphs and the vocabularies.
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

} // namespace lamina::model
