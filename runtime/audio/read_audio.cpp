#include <lamina/audio.hpp>

#include "audio/riff.hpp"
#include "audio/sound_file.hpp"
#include "base/own_files.hpp"

namespace lamina {

Audio read_audio(const std::filesystem::path &file) {
    audio::expect_complete(file);
    Audio out;
    own_function<audio::ReadSoundFile>("sndfile", "lamina_read_sound_file")(file, out);
    return out;
}

} // namespace lamina
