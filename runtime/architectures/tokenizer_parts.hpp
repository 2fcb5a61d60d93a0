// The parts of a tokenizer.json, for those that made_tokenizer() makes.
#pragma once

#include "architectures/config.hpp"
#include "architectures/special_tokens.hpp"
#include "base/json.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace lamina::architectures {

// tokenizer_config.json, or an object without keys.
class TokenizerSettings {
  public:
    explicit TokenizerSettings(const std::filesystem::path &folder);
    const Config *operator->() const { return &config_; }
    // "tokenizer_class", or else that of config.json, without "Fast"; empty: neither names one.
    [[nodiscard]] const std::string &class_name() const { return class_name_; }

  private:
    JsonText document_;
    Config config_;
    std::string class_name_;
};

struct TokenizerParts {
    std::string model; // as text, because a vocabulary is large
    Json normalizer = nullptr, pre_tokenizer = nullptr, post_processor = nullptr, decoder = nullptr;
    Json added_tokens = Json::array();

    [[nodiscard]] std::string text() const;
};

// ---- Post-processors ----

[[nodiscard]] Json special_token(const std::string &token, int type);
[[nodiscard]] Json sequence(const char *which, int type); // the text "A" or "B"
// Of special_token() and sequence(). `used`: the tokens in it.
[[nodiscard]] Json template_of(Json single, Json pair, const SpecialTokens &tokens,
                               const std::vector<std::string> &used);
// BEGIN A END, and BEGIN A END B END with B and its end of the second type.
[[nodiscard]] Json begun_and_ended(const SpecialTokens &tokens, const std::string &begin, const std::string &end);
// A token before and after each text, where tokenizer_config.json asks for them. The tokens: those that stand for the
// beginning and the end if no file names others; null: none.
[[nodiscard]] Json framed(SpecialTokens &tokens, const TokenizerSettings &options, const char *begin_token,
                          const char *end_token);

} // namespace lamina::architectures
