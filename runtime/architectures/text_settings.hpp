// Tokenizers and the settings of text generation and classification, from Hugging Face folders and GGUF files.
#pragma once

#include "architectures/architecture.hpp"
#include "base/json.hpp"
#include "model/gguf_metadata.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lamina::architectures {

// Reads tokenizer.json, the chat template, and the lengths in config.json and generation_config.json. none: no
// tokenizer.
[[nodiscard]] std::optional<TextSettings> read_text_settings(const Config &config, const Config &generation,
                                                             const std::filesystem::path &folder);
// Reads the keys tokenizer.*. none: no tokenizer.
[[nodiscard]] std::optional<TextSettings> read_text_settings(const model::GgufMetadata &metadata, const Config &config);

// Of classes: their names, empty if there are none, and the kind of their scores. Both throw Error(input).
[[nodiscard]] std::vector<std::string> labels_of(const Config &config);
[[nodiscard]] const char *scores_of(const Config &config);

// The "reading" block of model.json, for a draft whose only graph, "encode", takes ids and lengths and returns an
// embedding or logits; null for others.
[[nodiscard]] Json reading_block(const Draft &draft);
// The same for one that also takes boxes: of the words of pages, "reading" in the "pages" block.
[[nodiscard]] Json reading_of_pages(const Draft &draft);

// The "generation" block of model.json, for a draft that generates text; null for others. Its graphs are "decode", with
// the inputs ids and position and the output logits, and optionally "encode", with the inputs ids and lengths or the
// input samples.
[[nodiscard]] Json generation_block(const Draft &draft);

} // namespace lamina::architectures
