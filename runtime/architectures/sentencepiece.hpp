// Tokenizers of Hugging Face folders without tokenizer.json: SentencePiece models.
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

// spiece.model (T5), or source.spm, target.spm and vocab.json (Marian); none: the folder has neither. `vocabulary`: how
// many ids the model has.
[[nodiscard]] std::optional<SourceAndTarget> sentencepiece_tokenizers(const std::filesystem::path &folder,
                                                                      int64_t vocabulary);

} // namespace lamina::architectures
