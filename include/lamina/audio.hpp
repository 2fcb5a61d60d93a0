// Transcribes audio with models such as Whisper and wav2vec 2.0.
//
//     const lamina::Audio speech = lamina::read_audio("speech.flac");
//     std::cout << lamina::transcribe(session, {speech}).front().text << '\n';
#pragma once

#include <lamina/lamina.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
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
        Hypothesis hypothesis;     // with timestamps of models such as Whisper, its tokens include them
    };
    // What was said from one moment to another.
    struct Segment {
        double begin = 0, end = 0; // in seconds
        std::string text;
        std::vector<int32_t> tokens; // with timestamps
        size_t part = 0;             // in which it was heard
    };

    std::string text; // of all parts, without the spaces before the first word
    std::vector<Part> parts;
    std::vector<Segment> segments{}; // the text in pieces, as GenerateOptions::timestamps asks; none of them is empty
    std::vector<Segment> phrases{};  // if these are words of models such as Whisper: the segments that have them
    std::string language{}; // "en": that was chosen, or heard in the first part; empty: the model does not tell it
};

// A part of a recording in which somebody may be speaking.
struct VoicedPart {
    double begin = 0, end = 0; // in seconds
};

// The parts that are louder than the quiet moments of the recording, with a fifth of a second before and behind each.
// Pauses of less than half a second are no end. It knows how loud something is, and not what: music is a voice, too.
[[nodiscard]] std::vector<VoicedPart> voiced(const Audio &audio);

// The windows that transcribe() cuts audio into, one after the other, at the model's sample rate; not those of
// Timestamps::segments. Throws as transcribe().
[[nodiscard]] std::vector<Audio> audio_windows(const Model &model, const Audio &audio);

// The transcript of audio whose windows have these.
[[nodiscard]] Transcript joined_transcript(const std::vector<Transcript> &windows);

// A transcript as subtitles: its segments, or its parts if it has none.
enum class Subtitles { srt, vtt };
[[nodiscard]] std::string subtitles(const Transcript &transcript, Subtitles format);

// Transcribes each of the `audios`; the results are in the same order. Audio of another sample rate is resampled. Audio
// that is longer than a window of the model (30 seconds for Whisper and Moonshine, 20 for wav2vec 2.0) is cut into
// windows, which are transcribed independently. A cut is made in the last sixth of a window, in the middle of the
// quietest fifth of a second there.
//
// With Timestamps::segments or words of models such as Whisper, a window ends where its last whole segment does, and
// the next one begins there: what came after it is heard again (Radford et al., arXiv:2212.04356, section 3.8; as
// transformers does it without thresholds). Then the hypothesis of a part may have more tokens than its segments.
//
// `options` apply to each window; `hypotheses` and `stop` must not be set. A model that scores characters for each
// moment of audio (ModelContents::speech) takes none that choose among texts. With `stream`, windows are transcribed
// one after the other, and the callback's `text` is an index into `audios`; with segments, a piece is one of them.
// Throws Error(input) for a model that does not take audio, and for audio without samples or with NaN or infinity.
[[nodiscard]] std::vector<Transcript> transcribe(Session &session, const std::vector<Audio> &audios,
                                                 const GenerateOptions &options = {});

// Transcribes speech as it comes, as from a microphone: what was said is transcribed as soon as a pause of half a
// second follows, or when it is as long as a window of the model.
class Listener {
  public:
    // `session` must live as long. `options` as for transcribe(), but for skip_silence; they apply to each utterance.
    explicit Listener(Session &session, GenerateOptions options = {});
    Listener(Listener &&) noexcept;
    Listener &operator=(Listener &&) noexcept;
    ~Listener();

    // Takes the next samples, at the model's rate (AudioFormat::rate), and returns the transcripts of all utterances
    // that have ended. Their times count from the first sample of all. Throws Error(input) for NaN or infinity. If
    // it fails to transcribe an utterance, that is lost, and the next call returns those before it and goes on behind
    // it.
    [[nodiscard]] std::vector<Transcript> add(std::span<const float> samples);
    // The same for what has not ended. Afterwards, what is added comes behind it.
    [[nodiscard]] std::vector<Transcript> finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// transcribe() for audio that is no longer than a window, which is heard once. The end of its part says how much of it
// is in the transcript.
[[nodiscard]] std::vector<Transcript> transcribe_windows(Session &session, const std::vector<Audio> &windows,
                                                         const GenerateOptions &options = {});

} // namespace lamina
