// How byte-level tokenizers of GGUF files split a text into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

struct GgufWords {
    std::vector<std::string_view> names;    // in tokenizer.ggml.pre; empty: a file without that key
    std::vector<std::string_view> patterns; // regular expressions, each of which splits what the ones before it left
    bool composes = false;                  // normalizes to NFC first
    bool ignore_merges = false;             // a word that is a token needs no merges
    bool begins_text = false;               // adds the beginning-of-text token, unless the file says otherwise
    bool separates = false;                 // puts a second end-of-text token between two texts, as RoBERTa does
};

// Throws Error(input) for an unknown name, with the known ones.
[[nodiscard]] const GgufWords &gguf_words(const std::string &name);

} // namespace lamina::tokenizer
