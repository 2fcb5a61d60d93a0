// SentencePiece's own model files (*.model, *.spm), by libsentencepiece. They are whole tokenizers, including
// normalization and splitting.
#pragma once

#include "tokenizer/parts.hpp"
#include "tokenizer/vocabulary.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

// What some models keep beside the file.
struct SentencePieceSettings {
    std::optional<Vocabulary> ids = {}; // of the pieces, with "<unk>" for those that it lacks; default: the file's own
    std::vector<AddedToken> special = {};             // also found in texts, and left out of decoded text
    std::optional<SpecialToken> begin = {}, end = {}; // added before and after a text
};

// Throws Error(input) if the bytes are not such a model.
[[nodiscard]] Tokenizer::Parts read_sentencepiece_model(std::string_view bytes, const std::string &file,
                                                        SentencePieceSettings settings = {});

} // namespace lamina::tokenizer
