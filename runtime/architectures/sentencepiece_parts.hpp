// Tokenizers of Hugging Face folders that have a SentencePiece model alone.
#pragma once

#include "architectures/tokenizer_parts.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

// What transformers makes of tokenizer.model, spiece.model, spm.model or sentencepiece.bpe.model, whichever the
// tokenizer's class reads. none: the folder has no such file, or the class is not known here. Throws Error(input).
[[nodiscard]] std::optional<TokenizerParts> sentencepiece_parts(const std::filesystem::path &folder,
                                                                const TokenizerSettings &options,
                                                                const std::string &model_type);

// Why the folder's SentencePiece model is not read; empty: there is none.
[[nodiscard]] std::string why_not_read(const std::filesystem::path &folder);

} // namespace lamina::architectures
