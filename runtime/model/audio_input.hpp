// Audio as a graph takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lamina::model {

// An input of lengths, i32 (B): how many frames a sequence has. There is one for every `step` samples, as long as
// `width` samples are left.
struct Frames {
    std::string input = {};
    int64_t width = 1, step = 1;

    [[nodiscard]] int64_t count(int64_t samples) const { return samples < width ? 0 : (samples - width) / step + 1; }
    // As many frames as hear all of so many samples, the last of them with fewer than it could.
    [[nodiscard]] int64_t covering(int64_t samples) const {
        return samples <= width ? 1 : (samples - width + step - 1) / step + 1;
    }
    // How many samples so many frames have, with none left over.
    [[nodiscard]] int64_t samples(int64_t frames) const { return width + (frames - 1) * step; }
};

// How a graph takes audio of any length: it is told how much of each sequence counts.
struct AudioFrames {
    bool normalize = false;                  // a window gets mean 0 and variance 1
    Frames lengths = {};                     // frames of what it gives
    std::optional<Frames> norm_lengths = {}; // another input of lengths
};

// Audio that a graph takes: one channel, from -1 to 1.
struct AudioInput {
    std::string samples = {}; // its input: (B, length), or (B, N, 1) with frames
    int64_t length = 0;       // of a window, in samples: always, or with frames at most
    int64_t rate = 0;         // samples per second
    std::optional<AudioFrames> frames = {};
};

} // namespace lamina::model
