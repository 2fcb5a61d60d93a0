// SentencePiece's own model files (*.model), by libsentencepiece: whole tokenizers, which normalize and split
// themselves.
#pragma once

#include "tokenizer/parts.hpp"

#include <filesystem>

namespace lamina::tokenizer {

// Throws Error(input) for what is no such model.
[[nodiscard]] Tokenizer::Parts read_sentencepiece_model(const std::filesystem::path &file);

} // namespace lamina::tokenizer
