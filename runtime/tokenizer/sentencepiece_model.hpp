// SentencePiece's own model files (*.model), by libsentencepiece. They are whole tokenizers, including normalization
// and splitting.
#pragma once

#include "tokenizer/parts.hpp"

#include <filesystem>

namespace lamina::tokenizer {

// Throws Error(input) if the file is not such a model.
[[nodiscard]] Tokenizer::Parts read_sentencepiece_model(const std::filesystem::path &file);

} // namespace lamina::tokenizer
