// How many tokens texts have.
#pragma once

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::serve {

// Throws Refusal if the model cannot take one of them. `field` is where the request has them.
[[nodiscard]] size_t tokens_in(const Model &model, const std::vector<std::string> &texts, const std::string &field);
// The same of `first` with each of these texts. `field` is where the request has the latter.
[[nodiscard]] size_t tokens_of_pairs(const Model &model, const std::string &first,
                                     const std::vector<std::string> &seconds, const std::string &field);

} // namespace lamina::serve
