// How many tokens texts have.
#pragma once

#include <lamina/lamina.hpp>
#include <lamina/texts.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lamina::serve {

// All throw Refusal if the model cannot take one of the texts; unless `cut`, also if one is too long. `field` is where
// the request has them.

// Prompts by the ids of their tokens. `special`: with those that the model expects around a text.
[[nodiscard]] std::vector<std::vector<int32_t>> ids_in(const Model &model, const std::vector<std::string> &prompts,
                                                       const std::string &field, bool special);
[[nodiscard]] size_t tokens_in(const Model &model, const std::vector<std::string> &texts, const std::string &field,
                               bool cut = false);
// Those of texts of any length, in windows.
[[nodiscard]] std::vector<TextWindow> windows_in(const Model &model, const std::vector<std::string> &texts,
                                                 const std::string &field);
// The same of `first` with each of these texts, which are in `field`.
[[nodiscard]] size_t tokens_of_pairs(const Model &model, const std::string &first,
                                     const std::vector<std::string> &seconds, const std::string &field, bool cut);
// The same of texts that are token ids, for a model with so many tokens that takes so many at a time.
[[nodiscard]] size_t tokens_in(const std::vector<std::vector<int32_t>> &texts, const std::string &field, bool cut,
                               size_t tokens, size_t longest);

} // namespace lamina::serve
