// SentencePiece models whose pieces have ids in a vocabulary of their own: the tokenizers of Marian and M2M-100.
#pragma once

#include "architectures/tokenizer_parts.hpp"
#include "base/json.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lamina::architectures {

struct NumberedPieces {
    std::string file;                            // the source's model
    Json source = {}, target = {};               // as model.json describes them
    std::map<std::string, int32_t> special = {}; // tokens of the source that are no pieces
};

// Of Marian's source.spm, target.spm and vocab.json, or M2M-100's sentencepiece.bpe.model and vocab.json; none: the
// folder does not have all of them. Throws Error(input).
[[nodiscard]] std::optional<NumberedPieces>
numbered_pieces(const std::filesystem::path &folder, const TokenizerSettings &options, const std::string &model_type);

} // namespace lamina::architectures
