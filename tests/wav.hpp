// WAV files for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

struct WavFormat {
    uint32_t rate = 16000;
    uint16_t channels = 1;
    bool floats = false; // else 16 bits
};

// The bytes of a file of these samples, those of a frame after each other.
inline std::string wav(const WavFormat &format, const std::vector<float> &samples) {
    std::string data;
    const auto put = [](std::string &out, auto value) {
        char bytes[sizeof(value)];
        std::memcpy(bytes, &value, sizeof(value)); // little-endian, as everything here
        out.append(bytes, sizeof(value));
    };
    for (const float sample : samples)
        if (format.floats)
            put(data, sample);
        else
            put(data, static_cast<int16_t>(std::lround(std::fmin(sample * 32768.0F, 32767.0F))));
    const uint16_t width = format.floats ? 4 : 2;
    std::string out = "RIFF";
    put(out, static_cast<uint32_t>(36 + data.size()));
    out += "WAVEfmt ";
    put(out, uint32_t{16});
    put(out, static_cast<uint16_t>(format.floats ? 3 : 1));
    put(out, format.channels);
    put(out, format.rate);
    put(out, format.rate * format.channels * width);
    put(out, static_cast<uint16_t>(format.channels * width));
    put(out, static_cast<uint16_t>(8 * width));
    out += "data";
    put(out, static_cast<uint32_t>(data.size()));
    return out + data;
}
