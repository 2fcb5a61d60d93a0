// The special tokens of generation, as given in Hugging Face folders.
#pragma once

#include "architectures/config.hpp"
#include "base/json.hpp"
#include "model/model.hpp"

namespace lamina::architectures {

// From generation_config.json or, in a folder without it, from config.json, as transformers does.
[[nodiscard]] model::OutputTokens output_tokens(const Config &generation);

// The same in the format of model.json.
[[nodiscard]] Json json_of(const model::OutputTokens &tokens);

} // namespace lamina::architectures
