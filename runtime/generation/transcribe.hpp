// Generates text from audio.
#pragma once

#include "generation/sources.hpp"
#include "session/state.hpp"

#include <lamina/audio.hpp>

#include <vector>

namespace lamina::generation {

// Throws Error(input) for a model that does not take audio.
[[nodiscard]] const model::AudioInput &audio_input_of(const model::Model &model);

// As transcribe() in audio.hpp, for audio at the model's sample rate.
[[nodiscard]] std::vector<Transcript> transcribe(detail::SessionState &session, const std::vector<Samples> &audios,
                                                 const GenerateOptions &options);

// As transcribe_windows(), likewise.
[[nodiscard]] std::vector<Transcript>
transcribe_windows(detail::SessionState &session, const std::vector<Samples> &windows, const GenerateOptions &options);

// As joined_transcript().
[[nodiscard]] Transcript joined(const std::vector<Transcript> &windows);

// Throws Error(input) for audio without samples or with NaN or infinity; `number` is for people, from 1.
void expect_samples(Samples audio, size_t number);

// Cuts audio into windows of at most input.length samples.
[[nodiscard]] std::vector<Samples> windows_of(Samples audio, const model::AudioInput &input);

} // namespace lamina::generation
