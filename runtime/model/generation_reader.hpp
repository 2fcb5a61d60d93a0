// The "generation" block of model.json: every name in it is checked against the graphs and the vocabularies.
#pragma once

#include "model/json.hpp"
#include "model/model.hpp"

#include <functional>
#include <string>

namespace lamina::model {

// Gives the vocabulary of a file name. Throws Error(input).
using OpenVocabulary = std::function<Vocabulary(const std::string &file)>;

// Opens the vocabularies that the block names into `model.vocabularies`. The graphs are read before.
[[nodiscard]] Generation read_generation(const JsonValue &value, Model &model, const OpenVocabulary &open);

} // namespace lamina::model
