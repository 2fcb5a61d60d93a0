// The tokenizer of RWKV's folders.
#pragma once

#include "architectures/tokenizer_parts.hpp"

#include <filesystem>
#include <optional>

namespace lamina::architectures {

// Of rwkv_vocab_v20230424.txt, whose tokens are any bytes: repeatedly the longest one that the rest of a text begins
// with (RwkvTokenizer, hf_rwkv_tokenizer.py of such folders). None: there is no such file. Throws Error(input).
[[nodiscard]] std::optional<TokenizerParts> rwkv_tokenizer(const std::filesystem::path &folder);

} // namespace lamina::architectures
