// Whether the tokens of a vocabulary are such as texts are split into.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace lamina::cli {

// Throws Error(input) with the file and the line of the first token that no text could ever hold: one of several
// characters where tokens are characters, one with a blank where they are words. Not those in `special`, nor what is
// written as special tokens are, "<pad>" or "[UNK]", which stand for what texts do not spell out.
void refuse_unreadable(const std::vector<std::string> &tokens, const std::filesystem::path &file, bool characters,
                       const std::set<std::string> &special);

} // namespace lamina::cli
