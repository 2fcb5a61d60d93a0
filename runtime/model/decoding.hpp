// How a model's makers search for its texts: which tokens may come next, and which of several texts is the best. Every
// setting has the name and the meaning that it has in transformers' GenerationConfig. Lengths are in tokens.
#pragma once

#include "base/json_reader.hpp"
#include "model/text_codec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lamina::model {

// When a search ends that has found as many texts as it has beams: at once; when the best beam is worse than all of
// them at its present length; or when it can no longer become better.
enum class EarlyStopping { at_once, estimated, never };

// The last of these tokens gets this score in addition, where the others come right before it.
struct SequenceBias {
    Ids tokens;
    double bias = 0;
};

// From `start` new tokens on, the scores of the ends grow by |score| (factor^n - 1) after n more.
struct EndBonus {
    int64_t start = 0;
    double factor = 1;
};

struct Decoding {
    int64_t num_beams = 1;
    EarlyStopping early_stopping = EarlyStopping::at_once;
    double length_penalty = 1;
    std::optional<int64_t> max_length = {}; // start and prompt included
    std::vector<std::string> stop_strings = {};

    // ---- What changes scores, in this order ----
    std::vector<SequenceBias> sequence_bias = {};
    double encoder_repetition_penalty = 1;
    // Then Sampling::repetition_penalty.
    int64_t no_repeat_ngram_size = 0, encoder_no_repeat_ngram_size = 0; // 0: they may be repeated
    std::vector<Ids> bad_words_ids = {};
    int64_t min_length = 0;                     // start and prompt included
    std::optional<int64_t> min_new_tokens = {}; // in place of min_length
    std::optional<int32_t> forced_bos_token_id = {};
    Ids forced_eos_token_id = {}; // one of them comes last, at the maximum length
    bool remove_invalid_values = false;
    std::optional<EndBonus> exponential_decay_length_penalty = {};
    // Then OutputTokens::suppress and begin_suppress.
    bool renormalize_logits = false;
};

// Reads these settings from an object: the block "decoding" of model.json, or all of a generation_config.json. Ignores
// other keys; what is absent stays as in `otherwise`.
[[nodiscard]] Decoding read_decoding(JsonView object, Decoding otherwise = {});

// Refuses keys that read_decoding() does not read.
void expect_decoding_keys(JsonView object);

} // namespace lamina::model
