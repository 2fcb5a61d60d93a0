// Texts that end a generated text.
#pragma once

#include "generation/texts.hpp"

#include <lamina/lamina.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::generation {

// Those of the caller or, if there are none, those of the model.
[[nodiscard]] const std::vector<std::string> &stops_of(const model::Model &model, const GenerateOptions &options);

// Whether one of `stops` has come with the last of these tokens, in what they say from token `first` on. `special`:
// what special tokens say counts, too.
[[nodiscard]] bool stops(const model::TextCodec &codec, std::span<const int32_t> tokens, size_t first,
                         const std::vector<std::string> &stops, bool special);

// Where the first of them begins; the length of the text if there is none.
[[nodiscard]] size_t first_stop(std::string_view text, const std::vector<std::string> &stops);

// How much of a text that goes on may be shown: what a stop may yet begin with is held back.
[[nodiscard]] size_t safe_length(std::string_view text, const std::vector<std::string> &stops);

} // namespace lamina::generation
