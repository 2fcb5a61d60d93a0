// The tokens that Hugging Face folders without tokenizer.json name beside their vocabulary.
#pragma once

#include "architectures/config.hpp"
#include "base/json.hpp"
#include "tokenizer/vocabulary.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::architectures {

// What tokenizer_config.json says; later of special_tokens_map.json and added_tokens.json.
class SpecialTokens {
  public:
    // Throws Error(input).
    SpecialTokens(const std::filesystem::path &folder, const tokenizer::Vocabulary &vocabulary);

    // The token for a purpose ("cls_token"): the one that the files name, or `otherwise`, if the vocabulary has it.
    // none: there is no such token.
    [[nodiscard]] std::optional<std::string> find(const std::string &purpose, const char *otherwise);
    // Throws Error(input) if there is none.
    [[nodiscard]] std::string at(const std::string &purpose, const char *otherwise);
    [[nodiscard]] int32_t id(const std::string &token) const { return ids_.at(token); }
    // The key "added_tokens" of tokenizer.json, in the order of their ids.
    [[nodiscard]] Json json() const;

  private:
    std::filesystem::path folder_;
    const tokenizer::Vocabulary &vocabulary_;
    std::map<std::string, std::optional<std::string>, std::less<>> purposes_; // null: the files say that there is none
    std::map<std::string, int32_t, std::less<>> ids_;
    std::map<int32_t, Json> added_; // by id
    int32_t next_;                  // the first id that is free

    void add(const Json &token, const std::string &content, std::optional<int32_t> id);
    void read_names(JsonView names);
    std::string add_named(JsonView token);
};

} // namespace lamina::architectures
