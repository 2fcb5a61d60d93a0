// Texts as a model takes them: token ids, of no more than its graphs can hold.
#pragma once

#include "abi/library.hpp"
#include "model/model.hpp"

#include <lamina/texts.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lamina::generation {

using model::Ids;

// With the tokens that the model wants around a text, and those that the options choose. Throws Error(input) for a
// model that takes no text, and Error(usage) for a choice that it does not have.
[[nodiscard]] TextIds read_texts(const model::Model &model, const abi::Registry &plugins,
                                 const std::vector<std::string> &texts, const GenerateOptions &options = {});
// The same; throws Error(input) that says which text is refused.
[[nodiscard]] std::vector<Ids> tokenize(const model::Model &model, const abi::Registry &plugins,
                                        const std::vector<std::string> &texts, const GenerateOptions &options = {});

// Throws Error(input) for an id that is none of the model's, and for more tokens than it takes. Ids below zero may be
// of images, if it takes any.
void expect_ids(const model::Model &model, const abi::Registry &plugins, const Ids &ids);

// Tokens that a target may have, start and prompt included: as many as there are positions for, and as the model was
// trained with. Large where nothing limits it.
[[nodiscard]] size_t longest_target(const model::Model &model);
// Whether `encode` takes sources of so many tokens.
[[nodiscard]] bool takes_sources(const model::Model &model, const abi::Registry &plugins, size_t tokens);

// Two short texts of unequal lengths in the model's own tokens, always the same.
[[nodiscard]] std::vector<std::string> sample_texts(const model::Model &model, const abi::Registry &plugins);

} // namespace lamina::generation
