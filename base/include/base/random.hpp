// Random numbers that are the same on every machine, compiler and library, so that a seed in a report replays its
// failure.
#pragma once

#include <cstdint>
#include <string_view>

namespace lamina {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    // A separate stream for every name, so that the values of one port do not depend on the other ports.
    Random(uint64_t seed, std::string_view name) : state_(seed) {
        for (const char c : name) state_ = next() ^ static_cast<uint8_t>(c);
    }

    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30u)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27u)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31u);
    }
    // 0 to n - 1; n at least 1.
    uint64_t below(uint64_t n) { return next() % n; }
    // [0, 1), in steps that a float holds.
    double unit() { return static_cast<double>(next() >> 40u) / 16777216.0; }
    // Mean 0, deviation 1: the sum of twelve uniform 16-bit numbers (Irwin, Hall). It needs no logarithm or cosine,
    // which differ between libraries. Values are within +-6.
    double normal() {
        int64_t sum = 0;
        for (int word = 0; word < 3; ++word)
            for (uint64_t bits = next(), lane = 0; lane < 4; ++lane, bits >>= 16u)
                sum += static_cast<int64_t>(bits & 0xffffu);
        return static_cast<double>(sum - int64_t{12} * 32768) / 65536.0;
    }

  private:
    uint64_t state_;
};

} // namespace lamina
