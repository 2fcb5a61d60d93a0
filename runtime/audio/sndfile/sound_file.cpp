#include "audio/sound_file.hpp"

#include <sndfile.h>

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lamina::audio {
namespace {

constexpr int64_t block = 16384; // frames per read

struct Close {
    void operator()(SNDFILE *file) const { sf_close(file); }
};
using AudioFile = std::unique_ptr<SNDFILE, Close>;

[[noreturn]] void refuse(const std::filesystem::path &file, const std::string &why) {
    throw Error(ErrorCode::input, file.string() + ": " + why);
}

// Appends the mean of the channels of each frame. `before`: frames of the file before these.
void mix(const std::filesystem::path &file, std::span<const float> frames, int channels, int64_t before,
         std::vector<float> &out) {
    const auto width = static_cast<size_t>(channels);
    for (size_t i = 0; i < frames.size(); i += width) {
        double sum = 0;
        for (const float sample : frames.subspan(i, width)) sum += sample;
        if (!std::isfinite(sum))
            refuse(file, "sample " + std::to_string(before + static_cast<int64_t>(out.size())) + " is " +
                             std::to_string(sum) + "; expected numbers from -1 to 1");
        out.push_back(static_cast<float>(sum / channels));
    }
}

} // namespace

extern "C" void lamina_read_sound_file(const std::filesystem::path &file, const TakeSamples &take) {
    SF_INFO info{};
    const AudioFile in(sf_open(file.string().c_str(), SFM_READ, &info));
    if (!in)
        refuse(file, std::string("expected audio, such as WAV, FLAC, OGG or MP3; libsndfile says: ") +
                         sf_strerror(nullptr) + "; 'ffmpeg -i INPUT OUTPUT.wav' converts most others");
    sf_count_t found = 0; // frames
    std::vector<float> frames(static_cast<size_t>(block * info.channels)), mixed;
    while (const sf_count_t count = sf_readf_float(in.get(), frames.data(), block)) {
        mixed.clear();
        mix(file, std::span(frames).first(static_cast<size_t>(count * info.channels)), info.channels, found, mixed);
        take(mixed, info.samplerate);
        found += count;
    }
    if (sf_error(in.get()) != SF_ERR_NO_ERROR)
        refuse(file, "cannot be read to its end: " + std::string(sf_strerror(in.get())));
    // The length of an MP3 file is an estimate, and a FLAC file that was written to a pipe does not say its own.
    const bool counted = (info.format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG && info.frames != SF_COUNT_MAX;
    if (counted && found < info.frames)
        refuse(file, "is truncated: expected " + std::to_string(info.frames) + " samples per channel, found " +
                         std::to_string(found));
    if (found == 0) refuse(file, "contains no samples");
}

} // namespace lamina::audio
