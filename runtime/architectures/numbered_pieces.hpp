// Tokenizers of Marian: two SentencePiece models, and ids in a vocabulary of their own.
#pragma once

#include "base/json.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

// As model.json describes them.
struct SourceAndTarget {
    std::string file; // the source's model
    Json source, target;
};

// source.spm, target.spm and vocab.json; none: the folder does not have all of them.
[[nodiscard]] std::optional<SourceAndTarget> marian_tokenizers(const std::filesystem::path &folder);

} // namespace lamina::architectures
