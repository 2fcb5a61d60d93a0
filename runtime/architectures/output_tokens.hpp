// The tokens that generation must know of, as Hugging Face folders have them.
#pragma once

#include "architectures/config.hpp"
#include "base/json.hpp"
#include "model/model.hpp"

namespace lamina::architectures {

// `generation`: generation_config.json; what it leaves out is in config.json, where older folders have all of it.
[[nodiscard]] model::OutputTokens output_tokens(const Config &generation, const Config &config);

// As model.json has them.
[[nodiscard]] Json json_of(const model::OutputTokens &tokens);

} // namespace lamina::architectures
