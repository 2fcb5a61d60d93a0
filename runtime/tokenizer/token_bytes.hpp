// What each token adds to a text.
#pragma once

#include <lamina/tokenizer.hpp>

#include <string>
#include <vector>

namespace lamina::tokenizer {

// The bytes of each token, by id: of the first one of a text, or of one behind others. Empty for special tokens, for ids
// without a token, and for tokens that add nothing.
[[nodiscard]] std::vector<std::string> token_bytes(const Tokenizer &tokenizer, bool first);

} // namespace lamina::tokenizer
