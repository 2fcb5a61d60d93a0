// The labels of the scores of a model that writes characters (CTC), as transformers' Wav2Vec2CTCTokenizer has them.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lamina::architectures {

struct SpeechLabels {
    std::vector<std::string> labels; // by id
    std::string blank, delimiter, space;
    bool lowercase = false, clean_up = false;
};

// For so many scores, of the tokenizer in a folder with a vocab.json. Throws Error(input).
[[nodiscard]] SpeechLabels read_speech_labels(const std::filesystem::path &folder, int64_t count);

} // namespace lamina::architectures
