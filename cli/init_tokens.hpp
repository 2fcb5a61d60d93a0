// Whether the tokens of a vocabulary are such as texts are split into.
#pragma once

#include "model/vocabulary.hpp"

#include <set>
#include <string>

namespace lamina::cli {

// Throws Error(input) with the file and the line of the first token that no text could ever hold: one of several
// characters where tokens are characters, one with a blank where they are words. Not those in `special`, nor what is
// written as special tokens are, "<pad>" or "[UNK]", which stand for what texts do not spell out.
void refuse_unreadable(const model::Vocabulary &vocabulary, bool characters, const std::set<std::string> &special);

} // namespace lamina::cli
