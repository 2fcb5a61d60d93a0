// Vocabularies: text files with one token a line.
//
//     const std::vector<std::string> letters = lamina::read_vocabulary("models/g2p/letters.txt");
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lamina {

// Reads the tokens of a UTF-8 file of at most 64 MiB. A token's id is its index in the list. Lines may end in CR LF.
// Throws Error(input) for an empty file and, with the line number, for an empty line, a repeated token or invalid
// UTF-8.
[[nodiscard]] std::vector<std::string> read_vocabulary(const std::filesystem::path &file);

} // namespace lamina
