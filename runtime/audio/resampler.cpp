#include "audio/resampler.hpp"

#include <lamina/audio.hpp>

#include <samplerate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace lamina {
namespace audio {
namespace {

constexpr size_t most_frames = 1u << 16; // samples that libsamplerate is given

void expect_success(int error) {
    if (error != 0) throw Error(ErrorCode::failure, std::string("libsamplerate: ") + src_strerror(error));
}

} // namespace

void Resampler::Delete::operator()(SRC_STATE_tag *state) const { src_delete(state); }

Resampler::Resampler(int64_t from, int64_t to) : ratio_(static_cast<double>(to) / static_cast<double>(from)) {
    if (from <= 0 || to <= 0 || src_is_valid_ratio(ratio_) == 0)
        throw Error(ErrorCode::input, "audio with " + std::to_string(from) +
                                          " samples per second cannot be resampled to " + std::to_string(to) +
                                          ": the rates may differ by a factor of at most 256");
    int error = 0;
    state_.reset(src_new(SRC_SINC_MEDIUM_QUALITY, 1, &error));
    expect_success(error);
}

void Resampler::finish(std::vector<float> &out) {
    process({}, true, out);
    // As long as what came: the filter may go on a little longer.
    const auto length = static_cast<uint64_t>(std::ceil(static_cast<double>(taken_) * ratio_));
    out.resize(out.size() - static_cast<size_t>(given_ - std::min(given_, length)));
}

void Resampler::process(std::span<const float> samples, bool last, std::vector<float> &out) {
    taken_ += samples.size();
    constexpr float nothing = 0; // libsamplerate would not end at a null
    std::array<float, 4096> made{};
    SRC_DATA data{};
    do {
        data.data_in = samples.empty() ? &nothing : samples.data(),
        data.input_frames = static_cast<long>(std::min(samples.size(), most_frames));
        data.data_out = made.data(), data.output_frames = static_cast<long>(made.size());
        data.src_ratio = ratio_, data.end_of_input = last ? 1 : 0;
        expect_success(src_process(state_.get(), &data));
        samples = samples.subspan(static_cast<size_t>(data.input_frames_used));
        out.insert(out.end(), made.begin(), made.begin() + data.output_frames_gen);
        given_ += static_cast<uint64_t>(data.output_frames_gen);
    } while (!samples.empty() || data.output_frames_gen != 0);
}

} // namespace audio

Audio resampled(const Audio &audio, int64_t rate) {
    if (audio.rate == rate) return audio;
    audio::Resampler resampler(audio.rate, rate);
    Audio out{.rate = rate};
    resampler.add(audio.samples, out.samples);
    resampler.finish(out.samples);
    return out;
}

} // namespace lamina
