// What changes the scores of tokens before one is chosen: the settings of model::Decoding, suppressed tokens and the
// repetition penalty, each as transformers' generate() applies it (generation/logits_process.py, release 5), in its
// order. Then what only callers ask for.
#pragma once

#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace lamina::generation {

using model::Ids;

// A text whose next token is to be chosen.
struct Unfinished {
    std::span<const int32_t> tokens; // all, prefix included
    size_t prefix = 0;               // how many of them were given: the start, and a prompt
    size_t longest = 0;              // how many there may be, prefix included
    std::span<const int32_t> source; // what the encoder was given, or the prompt; none for audio and images
};

class Processors {
  public:
    // Both must outlive this. The options are as resolved() gives them. `first`: Task::first.
    Processors(const model::Model &model, const GenerateOptions &options, std::optional<int32_t> first = {})
        : model_(model), settings_(model.generation->decoding), options_(options),
          first_(first ? first : settings_.forced_bos_token_id), is_chosen_(first.has_value()) {}

    // Whether most steps of a text change scores other than by suppressing always the same tokens.
    [[nodiscard]] bool change_most_steps() const;
    // Whether this step does.
    [[nodiscard]] bool change(const Unfinished &text) const;
    // Changes the scores of the next token. `room` is memory to compute in.
    void apply(std::span<float> scores, const Unfinished &text, Ids &room) const;

  private:
    [[nodiscard]] bool is_begin(const Unfinished &text) const;
    [[nodiscard]] bool forces_begin(const Unfinished &text) const;
    [[nodiscard]] bool forces_end(const Unfinished &text) const;
    [[nodiscard]] bool is_short(const Unfinished &text) const;
    void add_biases(std::span<float> scores, const Unfinished &text) const;
    void favour_ends(std::span<float> scores, const Unfinished &text) const;
    void count_tokens(std::span<float> scores, const Unfinished &text, Ids &room) const;
    void discourage_repeats(std::span<float> scores, std::span<const int32_t> tokens) const;
    [[nodiscard]] bool breaks(int32_t token) const;

    const model::Model &model_;
    const model::Decoding &settings_;
    const GenerateOptions &options_;
    std::optional<int32_t> first_;           // is forced to be the first token behind the start
    bool is_chosen_;                         // by the caller, who comes before what files suppress
    mutable std::map<int32_t, bool> breaks_; // what breaks() has found
};

} // namespace lamina::generation
