// Texts through a model that reads them: vectors and classes.
#pragma once

#include "reading/batches.hpp"

#include <lamina/texts.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina::reading {

// A text, or two that are read together.
struct Text {
    std::string first;
    std::optional<std::string> second;
};
[[nodiscard]] std::vector<Text> single(const std::vector<std::string> &texts);

// A sentence for each label, which stands where "{}" is. Throws Error(usage) if there is no such place.
[[nodiscard]] std::vector<std::string> sentences_of(const std::vector<std::string> &labels,
                                                    const std::string &sentence);

// Throws Error(usage) for a model without a "reading" block.
[[nodiscard]] const model::Reading &reading_of(const model::Model &model);

// Why the model does not take a text with these tokens, the first of which do not count; empty if it does.
[[nodiscard]] std::string why_not(const Encoding &encoding, size_t longest, size_t uncounted);

// The tokens of each of `count` texts, as `encoded` has them; the first `uncounted` do not count. Throws Error(input)
// for a text that has none or more than `longest`, and with its number what `encoded` throws.
[[nodiscard]] std::vector<Encoding> encode_each(size_t count, int64_t longest, size_t uncounted,
                                                const std::function<Encoding(size_t text)> &encoded);

// A text that is too long loses tokens on one side, but no special ones. `first`: how many are of the first of two
// texts; of a single text, all.
void truncate(Encoding &encoding, size_t longest, size_t first, model::Reading::Side side);

// The tokens without those of the texts themselves, the special ones aside, that `keep` refuses. It is given their
// number among them.
[[nodiscard]] Encoding without(const Encoding &encoding, const std::function<bool(size_t own)> &keep);

// How many tokens of a question come before those of its text, the special ones aside: `both` as the tokenizer gives
// them together, and what it gives for each alone, without special ones. Throws Error(input) for a tokenizer that puts
// them together in another way than one behind the other.
[[nodiscard]] size_t question_tokens(const Encoding &both, const Encoding &question, const Encoding &text);

// The tokens whose numbers `keep` does not refuse.
[[nodiscard]] Encoding only(const Encoding &encoding, const std::function<bool(size_t token)> &keep);

// The tokens [begin, end).
[[nodiscard]] Encoding slice(const Encoding &encoding, size_t begin, size_t end);

// In the order of the texts. Throws Error(usage) for a model that does not read texts, Error(input) for a text that has
// no tokens or, unless options.truncate, more than the model takes.
[[nodiscard]] std::vector<Found> read(detail::SessionState &session, const std::vector<Text> &texts,
                                      const ReadOptions &options);

// The same of texts that are token ids, with the special ones and without a prompt. Throws Error(input) for other ids,
// too.
[[nodiscard]] std::vector<Found> read_ids(detail::SessionState &session, const std::vector<std::vector<int32_t>> &texts,
                                          const ReadOptions &options);

// Texts of any length, with special tokens and the prompt.
struct WholeTexts {
    std::vector<Encoding> encodings;
    std::vector<size_t> prompts; // how many tokens of each are the prompt's alone
};
// Throws Error(usage) where a prompt does not count, and Error(input) for a text without tokens.
[[nodiscard]] WholeTexts read_whole(const model::Model &model, const std::vector<std::string> &texts,
                                    const ReadOptions &options);

// The token ids of texts, with the special ones and those of the prompt.
[[nodiscard]] TextIds tokenize(const model::Model &model, const std::vector<Text> &texts, const ReadOptions &options);

// The inputs of the model's graph for some texts, padded to the longest.
[[nodiscard]] GraphRun inputs_of_texts(const model::Model &model, const std::vector<std::string> &texts);

// Scores of labels, best first, of one row of a model's outputs. Those without a label are "LABEL_0", ...
[[nodiscard]] std::vector<LabelScore> labels_of(const std::vector<std::string> &labels, model::Scores kind,
                                                std::span<const float> row);

} // namespace lamina::reading
