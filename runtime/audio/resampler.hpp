// Converts audio to another sample rate as it comes, by libsamplerate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct SRC_STATE_tag; // of samplerate.h

namespace lamina::audio {

class Resampler {
  public:
    // Rates are in samples per second. Throws Error(input) if they differ by more than a factor of 256.
    Resampler(int64_t from, int64_t to);

    // Appends to `out` what follows from the next samples, which comes a little later than they do.
    void add(std::span<const float> samples, std::vector<float> &out) { process(samples, false, out); }
    void finish(std::vector<float> &out); // the rest

  private:
    void process(std::span<const float> samples, bool last, std::vector<float> &out);

    struct Delete {
        void operator()(SRC_STATE_tag *state) const;
    };
    double ratio_;
    std::unique_ptr<SRC_STATE_tag, Delete> state_;
    uint64_t taken_ = 0, given_ = 0; // samples
};

} // namespace lamina::audio
