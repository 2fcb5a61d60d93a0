// The tokens with which the model of a GGUF file ends a text, a turn or a message.
#pragma once

#include "model/gguf_metadata.hpp"

#include <cstdint>
#include <vector>

namespace lamina::architectures {

// Those that the file names. Most files name one, though the model has been taught several; so these are also the
// tokens that are called like an end in some family, as in llama.cpp (llama-vocab.cpp), but for those that part files
// of code.
[[nodiscard]] std::vector<int64_t> end_tokens_of(const model::GgufMetadata &metadata);

} // namespace lamina::architectures
