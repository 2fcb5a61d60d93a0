// What a model was trained to give, besides its hidden states.
#pragma once

#include "architectures/config.hpp"

#include <optional>

namespace lamina::architectures {

enum class Task {
    none,
    words,   // scores of words at each position: a masked or a causal language model
    texts,   // classes of whole texts, or a score
    tokens,  // classes of tokens
    images,  // classes of images
    answers, // for each token, how well an answer begins and ends there
    speech,  // scores of characters for each frame of audio
};

// The task of the class that "architectures" names. A file may also hold the weights of other heads, such as one that
// the model was first trained with. none: there is no such key, or a class that is not known, so the weights decide.
[[nodiscard]] std::optional<Task> task_of(const Config &config);

// How many classes the model distinguishes, or scores it gives.
[[nodiscard]] int64_t label_count(const Config &config);

} // namespace lamina::architectures
