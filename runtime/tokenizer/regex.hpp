// Regular expressions of tokenizer files, by Oniguruma, which Hugging Face's tokenizers uses, too.
#pragma once

#include "tokenizer/span.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

class Regex {
  public:
    // Throws Error(input) for a pattern that is malformed or too large.
    explicit Regex(std::string pattern);

    // The matches in order, without overlap. Throws Error(input) instead of hanging if the pattern backtracks more than
    // any pattern that splits words would.
    [[nodiscard]] std::vector<Span> find_all(std::string_view text) const;
    [[nodiscard]] const std::string &pattern() const { return pattern_; }

  private:
    std::string pattern_;
    std::shared_ptr<void> compiled_;
};

} // namespace lamina::tokenizer
