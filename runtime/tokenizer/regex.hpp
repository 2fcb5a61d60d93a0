// Regular expressions of tokenizer files, by Oniguruma, as the original uses it.
#pragma once

#include "tokenizer/span.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

class Regex {
  public:
    // Throws Error(input): what is wrong with the pattern.
    explicit Regex(std::string pattern);

    // Where it matches, in order, apart from each other. Throws Error(input) when a text takes more steps back than
    // any pattern that splits words: one that explodes is reported and does not hang.
    [[nodiscard]] std::vector<Span> find_all(std::string_view text) const;
    [[nodiscard]] const std::string &pattern() const { return pattern_; }

  private:
    std::string pattern_;
    std::shared_ptr<void> compiled_;
};

} // namespace lamina::tokenizer
