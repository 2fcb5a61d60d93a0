// Sines and cosines of frequencies at a position. Phases are counted in turns, as fractions of 64 bits: exact at any
// position.
#pragma once

#include "arrays.hpp"
#include "matrix.hpp"

#include <span>

namespace lamina::plugin::cpu_fallback {

class Waves {
  public:
    // turns: what each frequency adds at each position, in units of 2^-64 turn; of several axes, those of one after the
    // other. They must outlive this.
    explicit Waves(std::span<const uint64_t> turns, float magnitude = 1, size_t axes = 1)
        : turns_(turns), magnitude_(magnitude), axes_(axes), phases_(size()), values_(2 * size()) {}

    void move_to(int64_t position) {
        for (size_t i = 0; i < turns_.size(); ++i)
            phases_.data()[i] = static_cast<uint32_t>(static_cast<uint64_t>(position) * turns_[i] >> 32U);
        compute();
    }
    // On several axes, whose angles add up.
    void move_to(std::span<const int32_t> coordinates) {
        const auto count = static_cast<size_t>(size());
        for (size_t i = 0; i < count; ++i) {
            uint64_t sum = 0;
            for (size_t a = 0; a < axes_; ++a) sum += static_cast<uint64_t>(coordinates[a]) * turns_[a * count + i];
            phases_.data()[i] = static_cast<uint32_t>(sum >> 32U);
        }
        compute();
    }
    // To position 1 on this axis alone.
    void turn_once(size_t axis) {
        const auto count = static_cast<size_t>(size());
        for (size_t i = 0; i < count; ++i) phases_.data()[i] = static_cast<uint32_t>(turns_[axis * count + i] >> 32U);
        compute();
    }
    [[nodiscard]] const float *sines() const { return values_.data(); }
    [[nodiscard]] const float *cosines() const { return values_.data() + size(); }

  private:
    [[nodiscard]] int64_t size() const { return static_cast<int64_t>(turns_.size() / axes_); }
    void compute() {
        sines_and_cosines(phases_.data(), size(), values_.data(), values_.data() + size());
        if (magnitude_ != 1) scale(values_.data(), 2 * size(), magnitude_);
    }

    std::span<const uint64_t> turns_;
    float magnitude_;
    size_t axes_;
    Array<uint32_t> phases_; // in units of 2^-32 turn
    Array<float> values_;
};

} // namespace lamina::plugin::cpu_fallback
