#include <lamina/audio.hpp>

#include "audio/resampler.hpp"
#include "audio/riff.hpp"
#include "audio/sound_file.hpp"
#include "base/own_files.hpp"

#include <algorithm>
#include <new>
#include <optional>

namespace lamina {
namespace {

std::optional<audio::Resampler> resampler_of(const std::filesystem::path &file, int64_t from, int64_t to) {
    try {
        return audio::Resampler(from, to);
    } catch (const Error &why) {
        throw Error(why.code(), file.string() + ": " + why.what());
    }
}

} // namespace

Audio read_audio(const std::filesystem::path &file, const ReadAudioOptions &options) {
    if (options.rate < 0 || options.longest < 1)
        throw Error(ErrorCode::usage, "audio: expected a rate of 0 or above, and at least one second; found " +
                                          std::to_string(options.rate) + " and " + std::to_string(options.longest));
    audio::expect_complete(file);
    Audio out;
    std::optional<audio::Resampler> resampler;
    double samples = 0; // of the file
    const auto take = [&](std::span<const float> more, int64_t rate) {
        if (out.rate == 0) {
            out.rate = options.rate == 0 ? rate : options.rate;
            if (out.rate != rate) resampler = resampler_of(file, rate, out.rate);
        }
        if (options.working) options.working();
        samples += static_cast<double>(more.size());
        const int64_t counted = std::min<int64_t>(rate, 48'000);
        if (samples >
            static_cast<double>(counted) * static_cast<double>(options.longest)) // compressed silence is small
            throw Error(ErrorCode::input, file.string() + ": is longer than " + std::to_string(options.longest) +
                                              " seconds" + (counted < rate ? " of 48,000 samples" : "") +
                                              ": cut it into several files");
        if (resampler)
            resampler->add(more, out.samples);
        else
            out.samples.insert(out.samples.end(), more.begin(), more.end());
    };
    try {
        own_function<audio::ReadSoundFile>("sndfile", "lamina_read_sound_file")(file, take);
        if (resampler) resampler->finish(out.samples);
    } catch (const std::bad_alloc &) {
        throw Error(ErrorCode::memory, file.string() + ": does not fit into memory");
    }
    return out;
}

} // namespace lamina
