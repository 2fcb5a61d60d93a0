// What a reranker with a chat template reads of two texts: a conversation of the roles query and document.
#pragma once

#include "base/json.hpp"
#include "model/model.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace lamina::architectures {

// Whether sentence-transformers makes conversations of the texts of this folder: "message" of its "modality_config".
[[nodiscard]] bool makes_conversations(const std::filesystem::path &folder);

// "pair" of the "reading" block of model.json: the parts of that text, as the template writes them, without and with a
// prompt, which is the message of the system. Throws Error(input) for a template that does more than to write the texts
// in their places, and for one that leaves one out; but only if `needs_prompt` for one that takes no prompt.
[[nodiscard]] Json pair_block(const model::Chat &chat, const std::filesystem::path &folder, bool needs_prompt);

// The same of a template with the places {query} and {document}, as GGUF files have it. What it says behind
// "<Instruct>: " is left to a prompt, if there is one; a template without that takes none.
[[nodiscard]] Json pair_block(std::string_view text, const std::string &place);

} // namespace lamina::architectures
