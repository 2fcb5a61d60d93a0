// How a model's makers generate its texts, as given in generation_config.json.
#pragma once

#include "architectures/config.hpp"
#include "base/json.hpp"
#include "model/decoding.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lamina::architectures {

// The token that every text begins with, if one is forced: "forced_bos_token_id", or "bos_token_id" with release 4's
// "force_bos_token_to_be_generated", which transformers reads in a config.json without a generation_config.json alone.
[[nodiscard]] std::optional<int32_t> forced_first(const Config &generation);

// What every key of transformers' GenerationConfig says (generation/configuration_utils.py, release 5), and config.json
// in place of a folder's generation_config.json that is missing. Each is read here or by output_tokens(), cannot change
// which tokens are chosen, or is refused where it would: throws Error(input). `audio`: as Whisper takes it.
[[nodiscard]] model::Decoding read_decoding(const Config &generation, bool audio);

// How many tokens a text has at most, without start, prompt and end; 256 if the file does not say it.
[[nodiscard]] int64_t read_max_length(const Config &generation, bool audio);

// How to sample, as transformers would with do_sample; a model that is not sampled is only given the penalty. In the
// format of model.json.
[[nodiscard]] Json read_sampling(const Config &generation);
// Adds a setting to these, unless it makes no sense: a model is not refused for that.
void suggest(Json &sampling, std::string_view key, double value);

// In the format of model.json.
[[nodiscard]] Json json_of(const model::Decoding &decoding);

// config.json in place of a generation_config.json that is missing, for a model with the part "decoder": what the whole
// does not say, the decoder does (transformers, GenerationConfig.from_model_config). Empty: there is no such part.
[[nodiscard]] std::string generation_of_parts(JsonView whole);

// All keys that are read, ignored or refused. In a config.json, they are not about the model itself.
[[nodiscard]] std::vector<std::string_view> generation_keys();

} // namespace lamina::architectures
