// Tokenizers of translators, whose classes put other tokens around a text than tokenizer.json says.
#pragma once

#include "architectures/tokenizer_parts.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

// The folder's tokenizer.json with the template of NllbTokenizer, MBartTokenizer or MBart50Tokenizer, for the language
// "src_lang" of tokenizer_config.json. none: the tokenizer is of another class. Throws Error(input).
[[nodiscard]] std::optional<std::string> translator_tokenizer(const std::filesystem::path &folder,
                                                              const TokenizerSettings &options,
                                                              const std::string &model_type);

} // namespace lamina::architectures
