// Transcribes audio with models such as Whisper and wav2vec 2.0.
//
//     const lamina::Audio speech = lamina::read_audio("speech.flac");
//     std::cout << lamina::transcribe(session, {speech}).front().text << '\n';
#pragma once

#include <lamina/lamina.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lamina {

// One channel of audio.
struct Audio {
    std::vector<float> samples = {}; // from -1 to 1
    int64_t rate = 0;                // samples per second
};

struct ReadAudioOptions {
    int64_t rate = 0;            // samples per second of the result, as resampled() makes them; 0: those of the file
    int64_t longest = 24 * 3600; // in seconds; of files with more than 48,000 samples a second, in as many samples
    std::function<void()> working = {}; // called again and again; what it throws ends the reading
};

// Reads WAV, FLAC, OGG, MP3 and the other formats of libsndfile. Several channels are averaged. Throws Error(input) for
// a file that is not audio, is empty or truncated, contains NaN or infinity, or is longer than `longest`. Whatever the
// file has, no more memory is needed than for its result.
[[nodiscard]] Audio read_audio(const std::filesystem::path &file, const ReadAudioOptions &options = {});

// Converts to another sample rate, by libsamplerate. Throws Error(input) if the rates differ by more than a factor of
// 256.
[[nodiscard]] Audio resampled(const Audio &audio, int64_t rate);

struct Transcript {
    // A window of the audio.
    struct Part {
        double begin = 0, end = 0; // in seconds
        Hypothesis hypothesis;
    };

    std::string text; // of all parts, without the spaces before the first word
    std::vector<Part> parts;
};

// The windows that transcribe() cuts audio into, one after the other, at the model's sample rate. Throws as
// transcribe().
[[nodiscard]] std::vector<Audio> audio_windows(const Model &model, const Audio &audio);

// The transcript of audio whose windows have these.
[[nodiscard]] Transcript joined_transcript(const std::vector<Transcript> &windows);

// Transcribes each of the `audios`; the results are in the same order. Audio of another sample rate is resampled. Audio
// that is longer than a window of the model (30 seconds for Whisper, 20 for wav2vec 2.0) is cut into windows, which are
// transcribed independently. A cut is made in the last sixth of a window, in the middle of the quietest fifth of a
// second there.
//
// `options` apply to each window; `hypotheses` and `stop` must not be set. A model that scores characters for each
// moment of audio (ModelContents::speech) takes none that choose among texts. With `stream`, windows are transcribed
// one after the other, and the callback's `text` is an index into `audios`. Throws Error(input) for a model that does
// not take audio, and for audio without samples or with NaN or infinity.
[[nodiscard]] std::vector<Transcript> transcribe(Session &session, const std::vector<Audio> &audios,
                                                 const GenerateOptions &options = {});

} // namespace lamina
