// Tokenizers from the metadata of GGUF files.
#pragma once

#include <lamina/tokenizer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

// The members are named like the keys, tokenizer.ggml.* but for two. std::optional: the file may lack the key. Texts
// are the file's own bytes.
struct GgufVocabulary {
    std::string architecture, name; // general.*: they say which flags tokens have
    // "gpt2" (byte-level BPE), "llama" (SentencePiece's BPE), "bert" (WordPiece), "t5" (SentencePiece's Unigram) or
    // "rwkv" (the longest tokens of bytes).
    std::string model;
    std::string pre;                      // gpt2: how text is split into words; see gguf_words.hpp
    std::vector<std::string_view> tokens; // by id
    std::vector<float> scores;            // llama, t5: by id
    std::vector<int32_t> token_type;      // by id; 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
    std::vector<std::string_view> merges; // gpt2: "left right", in order of rank
    std::string precompiled_charsmap;     // t5: how text is normalized; see charsmap() in normalizer.hpp
    std::optional<int32_t> bos_token_id, eos_token_id, unknown_token_id, cls_token_id, seperator_token_id; // so spelt
    std::optional<bool> add_bos_token, add_eos_token, add_space_prefix, remove_extra_whitespaces, lowercase,
        strip_accents;
};

// Whether a token ends a text, a turn or a message in some family: it does in all, because files may call it an
// ordinary one.
[[nodiscard]] bool is_called_an_end(std::string_view token);

// Throws Error(input): "tokenizer.ggml.KEY: MESSAGE".
[[nodiscard]] Tokenizer tokenizer_of(const GgufVocabulary &file);

} // namespace lamina::tokenizer
