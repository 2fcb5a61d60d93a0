// Tokenizers of Hugging Face folders without a tokenizer.json: the tokenizer.json that their files amount to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

// The text of that tokenizer.json, made as transformers makes it of vocab.txt (WordPiece), of vocab.json and
// merges.txt (byte-level BPE), or of a SentencePiece model (tokenizer.model, spiece.model, spm.model, sentencepiece.bpe.model),
// and of what tokenizer_config.json, special_tokens_map.json and added_tokens.json say. `model_type` decides where no
// file says which class the tokenizer is of. none: the folder has none of them. Throws Error(input).
[[nodiscard]] std::optional<std::string> made_tokenizer(const std::filesystem::path &folder,
                                                        const std::string &model_type);

} // namespace lamina::architectures
