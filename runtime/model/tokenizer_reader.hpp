// A tokenizer that model.json describes.
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

namespace lamina::model {

// {"tokenizer": "tokenizer.json"}, or a SentencePiece model with what it lacks:
// {"tokenizer": "source.spm", "vocabulary": "vocab.json", "special": {"</s>": 0}, "end": "</s>"}. Throws Error(input).
[[nodiscard]] Tokenizer read_tokenizer(JsonView value, const TextFiles &files);
// The same tokenizer; its decoded texts are cleaned up if "clean_up" is true (tokenizer/decoder.hpp).
[[nodiscard]] Tokenizer cleaning_up(const Tokenizer &tokenizer, JsonView value);

} // namespace lamina::model
