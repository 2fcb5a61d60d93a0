// What tokenizers that are made of a SentencePiece model consist of.
#pragma once

#include "architectures/tokenizer_parts.hpp"
#include "tokenizer/sentencepiece_file.hpp"
#include "tokenizer/vocabulary.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lamina::architectures::sentencepiece {

using tokenizer::SentencePieceFile;
using tokenizer::Vocabulary;
using Pieces = std::vector<SentencePieceFile::Piece>;

inline constexpr const char *space = "\u2581"; // what SentencePiece writes for a space

// What all kinds of tokenizers are made of.
struct Source {
    const std::filesystem::path &folder;
    const TokenizerSettings &options;
    const SentencePieceFile &file;
};

// What the files call the token of this purpose, such as "eos_token".
[[nodiscard]] std::string name_of(const Source &source, const char *purpose, const char *otherwise);

[[nodiscard]] Vocabulary vocabulary_of(const Pieces &pieces);

// The tokens of a class and of files; those of the model are others without a purpose, unless a file lists such.
// `user_defined`: also pieces of this kind.
[[nodiscard]] SpecialTokens tokens_of(const Source &source, const Pieces &pieces, const Vocabulary &vocabulary,
                                      const SpecialTokens::Defaults &defaults, bool user_defined = true);

// ---- Models ----

// Two pieces are merged wherever they make a third, first those that make one with a low id (transformers,
// convert_slow_tokenizer.py, generate_merges).
[[nodiscard]] std::string merges_of(const Pieces &pieces, const Vocabulary &vocabulary);
// The same of normal pieces alone, first those that make one with a high score (build_tokenizer_from_spm_proto).
[[nodiscard]] std::string merges_by_score(const Pieces &pieces);

struct Bpe {
    std::string merges;
    Json unknown = nullptr;
    bool byte_fallback = true;
    bool whole_words = false; // that are pieces are not made of others
};
[[nodiscard]] std::string bpe(const Pieces &pieces, const Bpe &options);
[[nodiscard]] std::string unigram(const Pieces &pieces, int64_t unknown);

// ---- Steps ----

[[nodiscard]] Json replace(const char *what, const char *by);
[[nodiscard]] Json replace_matches(const char *pattern, const char *by);
[[nodiscard]] Json decoder(bool byte_fallback, bool strips);
[[nodiscard]] Json metaspace(const char *prepends, bool splits);
[[nodiscard]] Json charsmap(const SentencePieceFile &file); // null: the file has none
// Of models whose words are split at spaces first.
void set_word_steps(TokenizerParts &out, const SentencePieceFile &file, bool prefixed);

} // namespace lamina::architectures::sentencepiece
