// Tokenizers, and how models generate text, as the files that people have say it.
#pragma once

#include "architectures/architecture.hpp"
#include "base/json.hpp"
#include "model/gguf_metadata.hpp"

#include <filesystem>
#include <optional>

namespace lamina::architectures {

// tokenizer.json, and what config.json and generation_config.json say of lengths; none: there is no tokenizer.
[[nodiscard]] std::optional<TextSettings> read_text_settings(const Config &config, const Config &generation,
                                                             const std::filesystem::path &folder);
// The keys tokenizer.ggml.*; none: there are no tokens.
[[nodiscard]] std::optional<TextSettings> read_text_settings(const model::GgufMetadata &metadata, const Config &config);

// The "reading" block of model.json for a draft whose only graph, "encode", takes ids and lengths and gives an
// embedding or logits; null for others.
[[nodiscard]] Json reading_block(const Draft &draft);

// The "generation" block of model.json for a draft that decodes text; null for others. Its graphs are "decode", with
// the inputs ids and position and the output logits, and maybe "encode", with the inputs ids and lengths.
[[nodiscard]] Json generation_block(const Draft &draft);

} // namespace lamina::architectures
