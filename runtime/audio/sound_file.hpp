// Reads audio by libsndfile, in a library of its own: the codecs that libsndfile links are large.
#pragma once

#include <lamina/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace lamina::audio {

using TakeSamples = std::function<void(std::span<const float> samples, int64_t rate)>; // the next of one channel

// The function "lamina_read_sound_file" of the library "sndfile". Throws Error(input) for a file that is not audio, is
// empty or contains NaN or infinity, and for most truncated files.
using ReadSoundFile = void(const std::filesystem::path &file, const TakeSamples &take);

} // namespace lamina::audio
