// What the graphs of a model that takes text are given for some texts.
#pragma once

#include "model/model.hpp"

#include <lamina/texts.hpp>

#include <string>
#include <vector>

namespace lamina::generation {

struct TextInputs {
    std::vector<GraphRun> graphs; // in the order in which they run
    size_t length = 0;            // tokens that a sequence may come to have
};

// As many rows as there are texts, none longer than the longest; or what generation gives its programs, which round up:
// of that some is filled in, and what becomes of it is never looked at.
enum class Rows { of_texts, of_programs };

// The decoder is given what `session` itself makes of the texts, whole: no cache, position 0. Throws Error(usage) for a
// model that takes no text, or when there is none.
[[nodiscard]] TextInputs inputs_of_texts(detail::SessionState &session, const std::vector<std::string> &texts,
                                         Rows rows);

// The decoder's inputs token by token, as it is given them with a cache: all of them first, then those that change.
[[nodiscard]] std::vector<TensorMap> token_by_token(const model::Generation &g, TensorMap whole);

} // namespace lamina::generation
