// The inputs of the graphs of a model that generates text, for given texts or for sample input.
#pragma once

#include "generation/sources.hpp"

#include <lamina/texts.hpp>

#include <string>
#include <vector>

namespace lamina::generation {

struct TextInputs {
    std::vector<GraphRun> graphs; // in the order in which they run
    size_t length = 0;            // tokens that a sequence may come to have
    size_t prompt = 0;            // that the longest one begins with
};

// The decoder is given what `session` itself makes of the texts, whole: no cache, position 0. Throws Error(usage) for a
// model that takes no text, or when there is none.
[[nodiscard]] TextInputs inputs_of_texts(detail::SessionState &session, const std::vector<std::string> &texts,
                                         Rows rows);
// The same for sources of any kind, none of which is empty.
[[nodiscard]] TextInputs inputs_of_sources(detail::SessionState &session, const std::vector<Source> &sources,
                                           Rows rows);
// The same for made-up texts or audio, which are always the same.
[[nodiscard]] TextInputs sample_inputs(detail::SessionState &session, Rows rows);

// Of the decoder's inputs, those that change from step to step: so many tokens of each text, and their position.
[[nodiscard]] TensorMap tokens_of(const model::Generation &g, const TensorMap &whole, size_t first, size_t count);

} // namespace lamina::generation
