// The special tokens of generation, as given in Hugging Face folders.
#pragma once

#include "architectures/config.hpp"
#include "base/json.hpp"
#include "model/model.hpp"

namespace lamina::architectures {

// Keys that generation_config.json lacks are looked up in config.json, where older folders have all of them.
[[nodiscard]] model::OutputTokens output_tokens(const Config &generation, const Config &config);

// The same in the format of model.json.
[[nodiscard]] Json json_of(const model::OutputTokens &tokens);

} // namespace lamina::architectures
