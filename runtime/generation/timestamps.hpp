// When something was said, by tokens among those of the text (Radford et al., arXiv:2212.04356, sections 2.3 and 3.8).
#pragma once

#include "model/model.hpp"

#include <lamina/audio.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace lamina::generation {

// Excludes what may not follow `text`, the tokens behind the start (transformers, generation/logits_process.py,
// WhisperTimeStampLogitsProcessor): timestamps come first, last, and between in pairs, and never fall. If all of them
// together are likelier than every other token, one of them follows.
void apply_timestamp_rules(std::span<float> scores, std::span<const int32_t> text,
                           const model::TimestampTokens &timestamps, int32_t end);

// What was heard in a window.
struct Heard {
    std::vector<Transcript::Segment> segments{}; // in seconds from its beginning, without texts
    double end = 0; // where the next window begins: behind the last segment that is whole, or where this one ends
};
// As transformers (models/whisper/generation_whisper.py, _retrieve_segment), for a window of so many seconds.
[[nodiscard]] Heard segments_of(std::span<const int32_t> text, const model::TimestampTokens &timestamps,
                                double seconds);

} // namespace lamina::generation
