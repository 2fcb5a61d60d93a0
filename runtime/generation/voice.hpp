// Where somebody may be speaking: the loud parts of a recording.
#pragma once

#include "generation/sources.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lamina::generation {

// Samples [begin, end).
struct Stretch {
    size_t begin, end;
};

// In seconds: silence that ends a stretch, and how much of what is around a voice is part of it.
inline constexpr double pause = 0.5, margin = 0.2;

// What is louder than a threshold, which lies 0.3 of the way from the quiet level of the recording to the loud one, in
// decibels, where 0 is the level of the loudest sine. Levels are those of 20 ms each. The quiet one is that of the
// quietest tenth, but of no more than half a second, and not below -60; the loud one is that of the loudest fifth of a
// second. Noises of less than 60 ms are no voice. A recording whose levels are within 10 dB has no pauses, and one
// below -50 has no voice. `rate`: samples per second.
[[nodiscard]] std::vector<Stretch> voiced(Samples audio, int64_t rate);

// What of the samples from `at` on is heard next: from where somebody speaks, `most` samples at most, to where somebody
// last spoke among these. Empty, at the end: nobody speaks any more.
[[nodiscard]] Stretch next_heard(const std::vector<Stretch> &voices, size_t at, size_t most, size_t end);

} // namespace lamina::generation
