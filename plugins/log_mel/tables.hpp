// The tables of a spectrogram, in double: window, sines and cosines, mel filters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace log_mel {

// The periodic Hann window.
inline std::vector<double> hann_window(int64_t size) {
    std::vector<double> out;
    for (int64_t i = 0; i < size; ++i)
        out.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size)));
    return out;
}

// Pairs of cosine and sine of i / size turns.
inline std::vector<double> turns(int64_t size) {
    std::vector<double> out;
    for (int64_t i = 0; i < size; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
        out.push_back(std::cos(angle)), out.push_back(std::sin(angle));
    }
    return out;
}

// Slaney's mel scale: linear up to 1000 Hz, then logarithmic.
inline double mel_of(double hertz) {
    return hertz < 1000 ? hertz * 3 / 200 : 15 + std::log(hertz / 1000) * 27 / std::log(6.4);
}
inline double hertz_of(double mel) {
    return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}

// (mels, bins): one triangle per filter, evenly spaced on the mel scale up to half the sample rate, each with an area
// of 1 over frequency in Hz.
inline std::vector<double> mel_filters(int64_t mels, int64_t bins, int64_t sample_rate) {
    const double highest = static_cast<double>(sample_rate) / 2, most = mel_of(highest);
    std::vector<double> edges;
    for (int64_t i = 0; i < mels + 2; ++i)
        edges.push_back(hertz_of(most * static_cast<double>(i) / static_cast<double>(mels + 1)));
    std::vector<double> out;
    for (size_t m = 0; m < static_cast<size_t>(mels); ++m) {
        const double left = edges[m], centre = edges[m + 1], right = edges[m + 2];
        for (int64_t bin = 0; bin < bins; ++bin) {
            const double hertz = highest * static_cast<double>(bin) / static_cast<double>(bins - 1);
            const double height = std::min((hertz - left) / (centre - left), (right - hertz) / (right - centre));
            out.push_back(2 / (right - left) * std::max(height, 0.0));
        }
    }
    return out;
}

} // namespace log_mel
