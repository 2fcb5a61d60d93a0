// transcribe() in audio.hpp.
#include <lamina/audio.hpp>

#include "api/access.hpp"
#include "generation/transcribe.hpp"

namespace lamina {

std::vector<Audio> audio_windows(const Model &model, const Audio &audio) {
    const model::AudioInput &input = generation::audio_input_of(*detail::Access::model(model));
    generation::expect_samples(audio.samples, 1);
    const Audio whole = audio.rate == input.rate ? audio : resampled(audio, input.rate);
    std::vector<Audio> out;
    for (const generation::Samples window : generation::windows_of(whole.samples, input))
        out.push_back({{window.begin(), window.end()}, input.rate});
    return out;
}

Transcript joined_transcript(const std::vector<Transcript> &windows) { return generation::joined(windows); }

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
