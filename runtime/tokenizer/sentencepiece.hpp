// libsentencepiece, in a library of its own: few models need it, and it is large.
#pragma once

#include "tokenizer/model.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

class SentencePieces : public Model {
  public:
    [[nodiscard]] virtual std::string text_of(const std::vector<std::string> &pieces) const = 0;
};

// The function "lamina_new_sentencepieces" of the library "sentencepiece": reads a model file, or returns null and says
// why not. The caller deletes the result.
using NewSentencePieces = SentencePieces *(std::string_view bytes, std::string &fault);

} // namespace lamina::tokenizer
