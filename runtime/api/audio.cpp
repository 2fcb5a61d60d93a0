// transcribe() in audio.hpp.
#include <lamina/audio.hpp>

#include "api/access.hpp"
#include "generation/transcribe.hpp"

namespace lamina {

std::vector<Transcript> transcribe(Session &session, const std::vector<Audio> &audios, const GenerateOptions &options) {
    detail::SessionState &state = detail::Access::state(session);
    const int64_t rate = generation::audio_input_of(*state.model).rate;
    std::vector<Audio> others; // resampled
    others.reserve(audios.size());
    std::vector<generation::Samples> samples;
    for (const Audio &audio : audios)
        samples.emplace_back(audio.rate == rate ? audio.samples : others.emplace_back(resampled(audio, rate)).samples);
    const std::scoped_lock turn(state.turn);
    return generation::transcribe(state, samples, options);
}

} // namespace lamina
