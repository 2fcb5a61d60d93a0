// Reads audio by libsndfile, in a library of its own: the codecs that libsndfile links are large.
#pragma once

#include <lamina/audio.hpp>

#include <filesystem>

namespace lamina::audio {

// The function "lamina_read_sound_file" of the library "sndfile". Throws Error(input) as read_audio() does, but not for
// every truncated file.
using ReadSoundFile = void(const std::filesystem::path &file, Audio &out);

} // namespace lamina::audio
