// The tokenizer that a GGUF file holds.
#pragma once

#include "model/gguf_metadata.hpp"

#include <lamina/tokenizer.hpp>

#include <optional>

namespace lamina::model {

// The tokenizer that the keys tokenizer.ggml.* describe; nothing if the file has no tokens. Throws Error(input).
[[nodiscard]] std::optional<Tokenizer> tokenizer_of(const GgufMetadata &metadata);

} // namespace lamina::model
