// The steps of a tokenizer, from text to ids and from ids to text.
#pragma once

#include "tokenizer/added_tokens.hpp"
#include "tokenizer/decoder.hpp"
#include "tokenizer/model.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/post_processor.hpp"
#include "tokenizer/pre_tokenizer.hpp"

#include <lamina/tokenizer.hpp>

namespace lamina {

struct Tokenizer::Parts {
    tokenizer::Normalizer normalizer = [](tokenizer::Text &) {};
    tokenizer::AddedTokens added;
    tokenizer::PreTokenizer pre_tokenizer = [](std::vector<tokenizer::Piece> &) {};
    std::shared_ptr<const tokenizer::Model> model;
    tokenizer::PostProcessor post_processor = [](std::vector<Encoding> &, bool) {};
    tokenizer::Decoder decoder = tokenizer::decode_with_blanks();
    bool clean_up = false; // decoded texts: tokenizer::cleaned_up()
    // What the file says of texts that are too long, and of shorter ones among others; it is left to the caller.
    bool cut_left = false, padded_left = false;
};

namespace tokenizer {

// The text of these tokens before the clean-up.
[[nodiscard]] std::string decoded(const Tokenizer::Parts &parts, std::span<const int32_t> ids,
                                  bool skip_special_tokens);

} // namespace tokenizer
} // namespace lamina
