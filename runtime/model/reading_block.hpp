// Reads the "reading" block of model.json, and checks every name in it against the graphs.
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

namespace lamina::model {

// What a model may give for a text: the key, the shape of the output, and whether it has a row for each token.
struct ReadingKind {
    Reading::Gives gives;
    const char *key, *dims;
    bool of_tokens;
};
[[nodiscard]] const ReadingKind &kind_of(Reading::Gives gives);

// "softmax", "sigmoid" or "values". Throws Error(input).
[[nodiscard]] Scores scores_at(JsonView value);

// The graphs must have been read. `beside`: inputs of the graph that others set. Throws Error(input).
[[nodiscard]] Reading read_reading(JsonView value, const Model &model, const TextFiles &files,
                                   const std::vector<std::string> &beside = {});

} // namespace lamina::model
