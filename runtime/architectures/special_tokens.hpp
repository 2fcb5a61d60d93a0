// The tokens that Hugging Face folders name beside their vocabulary.
#pragma once

#include "architectures/config.hpp"
#include "base/json.hpp"
#include "tokenizer/vocabulary.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::architectures {

// What tokenizer_config.json says and, unless that lists all tokens by id, special_tokens_map.json and
// added_tokens.json (transformers, tokenization_utils_base.py, _from_pretrained).
class SpecialTokens {
  public:
    // Tokens by purpose that a class of tokenizers has where no file names others. They need not be in the vocabulary.
    using Defaults = std::vector<std::pair<const char *, const char *>>;
    // Throws Error(input).
    SpecialTokens(const std::filesystem::path &folder, const tokenizer::Vocabulary &vocabulary,
                  const Defaults &defaults = {});

    // The token for a purpose ("cls_token"): the one that the files name, or `otherwise`, if the vocabulary has it.
    // none: there is no such token.
    [[nodiscard]] std::optional<std::string> find(const std::string &purpose, const char *otherwise);
    // Adds a token of the vocabulary, unless the files have named it.
    void add(const std::string &token, bool special);
    // The token for a purpose takes the white space before it, unless a file describes it otherwise.
    void take_space_before(const std::string &purpose);
    // Whether a file lists special tokens without a purpose.
    [[nodiscard]] bool lists_others() const { return lists_others_; }
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
    std::map<int32_t, Json> added_;   // by id
    std::set<std::string> described_; // by files, with more than their text
    int32_t next_;                    // the first id that is free
    bool lists_others_ = false;

    void add(const Json &token, const std::string &content, std::optional<int32_t> id);
    void add_by_id(JsonView tokens, bool by_name);
    void read_names(const std::vector<JsonView> &files, const Defaults &defaults);
    std::string add_named(JsonView token);
};

// Of a token as files write it: "<pad>", or {"content": "<pad>", ...}.
[[nodiscard]] std::string content_of(JsonView token);
// The key of a member of "added_tokens_decoder". Throws Error(input) unless it is an id.
[[nodiscard]] int32_t id_of_listed(JsonView member);

// The token that the files of a folder name for a purpose ("mask_token"); empty: none. special_tokens_map.json counts
// more than tokenizer_config.json, unless that lists all tokens by id (transformers, tokenization_utils_base.py,
// _from_pretrained). Throws Error(input).
[[nodiscard]] std::string named_token(const std::filesystem::path &folder, const char *purpose);

} // namespace lamina::architectures
