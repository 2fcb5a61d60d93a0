// resampled() of audio.hpp, by libsamplerate.
#include <lamina/audio.hpp>

#include <samplerate.h>

#include <algorithm>
#include <climits>
#include <cmath>

namespace lamina {

Audio resampled(const Audio &audio, int64_t rate) {
    if (audio.rate == rate) return audio;
    const double ratio = static_cast<double>(rate) / static_cast<double>(audio.rate);
    if (audio.rate <= 0 || rate <= 0 || src_is_valid_ratio(ratio) == 0)
        throw Error(ErrorCode::input, "audio with " + std::to_string(audio.rate) +
                                          " samples per second cannot be resampled to " + std::to_string(rate) +
                                          ": the rates may differ by a factor of at most 256");
    Audio out{.rate = rate};
    out.samples.resize(static_cast<size_t>(std::ceil(static_cast<double>(audio.samples.size()) * ratio)));
    if (std::max(audio.samples.size(), out.samples.size()) > LONG_MAX) // on Windows, 2^31 - 1
        throw Error(ErrorCode::input, "audio of " + std::to_string(audio.samples.size()) +
                                          " samples is too long to be resampled: cut it into several parts");
    SRC_DATA data{};
    data.data_in = audio.samples.data(), data.input_frames = static_cast<long>(audio.samples.size());
    data.data_out = out.samples.data(), data.output_frames = static_cast<long>(out.samples.size());
    data.src_ratio = ratio;
    if (const int error = src_simple(&data, SRC_SINC_MEDIUM_QUALITY, 1); error != 0)
        throw Error(ErrorCode::failure, std::string("libsamplerate: ") + src_strerror(error));
    out.samples.resize(static_cast<size_t>(data.output_frames_gen));
    return out;
}

} // namespace lamina
