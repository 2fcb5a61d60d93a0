// Post-processors add special tokens around texts and set token types.
#pragma once

#include <lamina/tokenizer.hpp>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lamina::tokenizer {

// Gets one text or two, and replaces them by parts that the caller joins.
using PostProcessor = std::function<void(std::vector<Encoding> &parts, bool add_special_tokens)>;

void append(Encoding &to, const Encoding &part);

struct SpecialToken {
    std::string token;
    int32_t id = 0;
};

// BERT: [CLS] A [SEP] B [SEP]. RoBERTa: <s> A </s></s> B </s>, with type 0 throughout.
[[nodiscard]] PostProcessor bert_processing(const SpecialToken &cls, const SpecialToken &sep);
[[nodiscard]] PostProcessor roberta_processing(const SpecialToken &cls, const SpecialToken &sep);
// Excludes the spaces at both ends of byte-level tokens from their offsets.
[[nodiscard]] PostProcessor trim_offsets(bool add_prefix_space);
[[nodiscard]] PostProcessor sequence(std::vector<PostProcessor> processors);

// One item of a template: a text, or special tokens.
struct TemplatePiece {
    size_t text = 0; // 0 or 1; ignored if there are special tokens
    std::vector<SpecialToken> special;
    int32_t type = 0;
};
[[nodiscard]] PostProcessor template_processing(std::vector<TemplatePiece> single, std::vector<TemplatePiece> pair);

} // namespace lamina::tokenizer
