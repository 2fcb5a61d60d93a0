// Tokenizers of Hugging Face folders whose files amount to another tokenizer.json than they have.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

// The text of that tokenizer.json. Where there is none, it is made as transformers makes it of vocab.txt (WordPiece),
// of vocab.json and merges.txt (byte-level BPE), of RWKV's list of tokens, or of a SentencePiece model
// (tokenizer.model, spiece.model, spm.model, sentencepiece.bpe.model), and of what tokenizer_config.json,
// special_tokens_map.json and added_tokens.json say. That of a translator gets what its class puts around a text, and a
// byte-level one the space before a text that its class or tokenizer_config.json asks for.
// `model_type` decides where no file says which class the tokenizer is of. none: tokenizer.json is the tokenizer, or
// there are no such files. Throws Error(input).
[[nodiscard]] std::optional<std::string> made_tokenizer(const std::filesystem::path &folder,
                                                        const std::string &model_type);

} // namespace lamina::architectures
