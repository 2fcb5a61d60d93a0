// What each token adds to a text.
#pragma once

#include <lamina/tokenizer.hpp>

#include <string>
#include <vector>

namespace lamina::tokenizer {

// The bytes of each token, by id: of the first one of a text, or of one behind others. Empty for ids without a token,
// for tokens that add nothing, and for special ones, unless they are wanted.
[[nodiscard]] std::vector<std::string> token_bytes(const Tokenizer &tokenizer, bool first, bool special = false);

} // namespace lamina::tokenizer
