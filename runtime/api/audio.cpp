// transcribe() in audio.hpp.
#include <lamina/audio.hpp>

#include "api/access.hpp"
#include "generation/transcribe.hpp"
#include "generation/voice.hpp"

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

std::vector<VoicedPart> voiced(const Audio &audio) {
    if (audio.rate < 1)
        throw Error(ErrorCode::usage, "audio: expected a rate of 1 or above, found " + std::to_string(audio.rate));
    generation::expect_samples(audio.samples, 1);
    std::vector<VoicedPart> out;
    const auto rate = static_cast<double>(audio.rate);
    for (const generation::Stretch &each : generation::voiced(audio.samples, audio.rate))
        out.push_back({static_cast<double>(each.begin) / rate, static_cast<double>(each.end) / rate});
    return out;
}

Transcript joined_transcript(const std::vector<Transcript> &windows) { return generation::joined(windows); }

namespace {

// As `run` does it, for audio at the model's sample rate.
template <class Run> std::vector<Transcript> at_own_rate(Session &session, const std::vector<Audio> &audios, Run run) {
    detail::SessionState &state = detail::Access::state(session);
    const int64_t rate = generation::audio_input_of(*state.model).rate;
    std::vector<Audio> others; // resampled
    others.reserve(audios.size());
    std::vector<generation::Samples> samples;
    for (const Audio &audio : audios)
        samples.emplace_back(audio.rate == rate ? audio.samples : others.emplace_back(resampled(audio, rate)).samples);
    const std::scoped_lock turn(state.turn);
    return run(state, samples);
}

} // namespace

std::vector<Transcript> transcribe(Session &session, const std::vector<Audio> &audios, const GenerateOptions &options) {
    return at_own_rate(session, audios, [&](detail::SessionState &state, const auto &samples) {
        return generation::transcribe(state, samples, options);
    });
}

std::vector<Transcript> transcribe_windows(Session &session, const std::vector<Audio> &windows,
                                           const GenerateOptions &options) {
    return at_own_rate(session, windows, [&](detail::SessionState &state, const auto &samples) {
        return generation::transcribe_windows(state, samples, options);
    });
}

} // namespace lamina
