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

// Levels are those of 20 ms each, in decibels; 0 is that of the loudest sine. A stretch is louder than the recording's
// quietest half a second, or tenth, by 0.3 of what is between that and its loudest fifth of a second. What is below -60
// is all the same. Pauses of less than half a second are part of a stretch, and so is a fifth of a second before and
// behind it; noises of less than 60 ms are none. A recording that is always about as loud, within 10, has no pauses,
// or, below -50, no voice. `rate`: samples per second.
[[nodiscard]] std::vector<Stretch> voiced(Samples audio, int64_t rate);

// What of the samples from `at` on is heard next: from where somebody speaks, `most` samples at most, to where somebody
// last spoke among these. Empty, at the end: nobody speaks any more.
[[nodiscard]] Stretch next_heard(const std::vector<Stretch> &voices, size_t at, size_t most, size_t end);

} // namespace lamina::generation
