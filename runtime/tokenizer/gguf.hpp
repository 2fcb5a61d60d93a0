// Tokenizers from what GGUF files say of them, key by key.
#pragma once

#include <lamina/tokenizer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lamina::tokenizer {

// Named like the keys, tokenizer.ggml.*. Optional ones are absent from the file.
struct GgufVocabulary {
    std::string model;               // "gpt2" (byte-level BPE) or "llama" (SentencePiece's BPE)
    std::string pre;                 // how gpt2 splits words: "llama-bpe", "qwen2", ...
    std::vector<std::string> tokens; // by id
    std::vector<float> scores;       // by id; llama
    std::vector<int32_t> token_type; // by id; 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
    std::vector<std::string> merges; // "left right", the first of lowest rank; gpt2
    std::optional<int32_t> bos_token_id, eos_token_id, unknown_token_id;
    std::optional<bool> add_bos_token, add_eos_token, add_space_prefix;
};

// Throws Error(input): "tokenizer.ggml.KEY: MESSAGE".
[[nodiscard]] Tokenizer tokenizer_of(const GgufVocabulary &file);

} // namespace lamina::tokenizer
