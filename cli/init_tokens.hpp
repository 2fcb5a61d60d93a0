// Checks that texts can be split into the tokens of a vocabulary.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace lamina::cli {

// Throws Error(input) with the file and the line of the first token that cannot occur in a split text: one of several
// characters if text is split into characters, or one with a space or tab if it is split into words. Tokens in
// `special` and tokens in brackets, such as "<pad>" or "[UNK]", are not checked: they do not occur in texts.
void refuse_unreadable(const std::vector<std::string> &tokens, const std::filesystem::path &file, bool characters,
                       const std::set<std::string> &special);

} // namespace lamina::cli
