// How vectors and classes of texts and images are shown.
#pragma once

#include "output.hpp"

#include <lamina/lamina.hpp>
#include <lamina/texts.hpp>

#include <span>
#include <string>
#include <vector>

namespace lamina::cli {

// Row `i` of vectors (N, C).
[[nodiscard]] std::span<const float> row_of(const Tensor &vectors, size_t i);
[[nodiscard]] double cosine(std::span<const float> a, std::span<const float> b);
// The first numbers of each vector. `title` is that of the column with the names.
[[nodiscard]] std::string vectors_as_text(const std::string &title, const std::vector<std::string> &names,
                                          const Tensor &vectors, const Output &output);
[[nodiscard]] double product(std::span<const float> a, std::span<const float> b);
// How alike two vectors are: their cosine or, of sparse ones, their product, as sentence-transformers compares them.
struct Likeness {
    const char *title;
    double (*of)(std::span<const float> a, std::span<const float> b);
};
[[nodiscard]] Likeness likeness(bool sparse);
// A table of that of pairs; empty for one vector, and for too many.
[[nodiscard]] std::string likeness_as_text(const Tensor &vectors, const Likeness &likeness, const Output &output);

// The tokens that have a weight in a sparse vector, heaviest first. `tokens`: token_texts().
[[nodiscard]] std::vector<WordScore> words_of(std::span<const float> vector, const std::vector<TokenText> &tokens);
// The heaviest of these, and how many they are in all.
[[nodiscard]] std::string words_as_text(const std::vector<WordScore> &words);

[[nodiscard]] std::string fixed(double value); // "-0.008"
[[nodiscard]] Json labels_as_json(const std::vector<LabelScore> &labels);
// The likeliest ones, at most `most`.
[[nodiscard]] std::string labels_as_text(const std::vector<LabelScore> &labels, size_t most);
constexpr size_t shown_labels = 3; // of a text or an image

} // namespace lamina::cli
