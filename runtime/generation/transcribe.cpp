#include "generation/transcribe.hpp"

#include "generation/alignment.hpp"
#include "generation/generation.hpp"
#include "generation/speech.hpp"
#include "generation/timestamps.hpp"
#include "generation/voice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace lamina::generation {
namespace {

std::string_view without_leading_spaces(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// The middle of the quietest stretch of `width` samples, from `from` on.
size_t quietest(Samples audio, size_t from, size_t width) {
    const auto power = [&](size_t i) { return double{audio[i]} * double{audio[i]}; };
    double sum = 0;
    for (size_t i = from; i < from + width; ++i) sum += power(i);
    double least = sum;
    size_t best = from;
    for (size_t i = from; i + width < audio.size(); ++i) {
        sum += power(i + width) - power(i);
        if (sum < least) least = sum, best = i + 1;
    }
    return best + width / 2;
}

void check(const std::vector<Samples> &audios, const GenerateOptions &options) {
    if (options.hypotheses > 1) throw Error(ErrorCode::usage, "hypotheses: audio has one transcript");
    if (!options.stop.empty()) throw Error(ErrorCode::usage, "stop: does not apply to audio");
    for (size_t i = 0; i < audios.size(); ++i) expect_samples(audios[i], i + 1);
}

// Adds what was heard in the next window, which begins after so many seconds.
void append(Transcript &to, Transcript window, double begin) {
    if (to.language.empty()) to.language = std::move(window.language);
    for (const auto pieces : {&Transcript::segments, &Transcript::phrases})
        for (Transcript::Segment &each : window.*pieces) {
            each.begin += begin, each.end += begin, each.part += to.parts.size();
            (to.*pieces).push_back(std::move(each));
        }
    for (Transcript::Part &part : window.parts) {
        const std::string &text = part.hypothesis.text;
        to.text += to.text.empty() ? without_leading_spaces(text) : text;
        part.begin += begin, part.end += begin;
        to.parts.push_back(std::move(part));
    }
}

double end_of(const Transcript &transcript) { return transcript.parts.empty() ? 0 : transcript.parts.back().end; }

std::string words_of(const model::Model &model, Ids tokens) {
    std::erase_if(tokens, [&](int32_t token) { return token >= model.tokens.timestamps->none; });
    return model.generation->target->decode(tokens, false);
}

// That was chosen or heard; "" if the model does not tell it.
std::string language_of(const model::Model &model, const Ids &start) {
    const auto choice = model.tokens.choices.find("language");
    if (choice == model.tokens.choices.end() || choice->second.place >= start.size()) return "";
    for (const auto &[name, id] : choice->second.ids)
        if (id == start[choice->second.place]) return name;
    return "";
}

// Whether there are blanks between the words of a language.
bool has_blanks(const std::string &language) {
    constexpr std::array without{"zh", "ja", "th", "lo", "my", "yue"};
    return std::ranges::find(without, language) == without.end();
}

// The words of a segment, which begins with token `first` of the hypothesis.
std::vector<Transcript::Segment> words_in(const model::Model &model, const Ids &segment, const Hypothesis &hypothesis,
                                          size_t first) {
    Ids words;
    std::vector<size_t> places; // in the hypothesis
    for (size_t i = 0; i < segment.size(); ++i) {
        if (words_of(model, {segment[i]}).empty()) continue;
        words.push_back(segment[i]), places.push_back(first + i);
    }
    std::vector<Transcript::Segment> out;
    for (Word &word : words_among(*model.generation->target, words, has_blanks(language_of(model, hypothesis.start)))) {
        const size_t begin = places[word.begin], end = places[word.end - 1];
        out.push_back({.begin = begin == 0 ? 0 : hypothesis.ends[begin - 1],
                       .end = hypothesis.ends[end],
                       .text = std::move(word.text),
                       .tokens = {words.begin() + static_cast<ptrdiff_t>(word.begin),
                                  words.begin() + static_cast<ptrdiff_t>(word.end)}});
    }
    return out;
}

// Of a window of so many seconds, in which timestamps were heard, too. What is shorter than half a step, a frame of
// Whisper's, is not heard again.
Transcript with_segments(const model::Model &model, double seconds, Hypothesis hypothesis) {
    Transcript out;
    const model::TimestampTokens &timestamps = *model.tokens.timestamps;
    Heard heard = segments_of(hypothesis.tokens, timestamps, seconds);
    if (heard.end + timestamps.step / 2 > seconds) heard.end = seconds;
    hypothesis.text.clear();
    size_t first = 0; // token of the segment
    for (Transcript::Segment &each : heard.segments) {
        each.text = words_of(model, each.tokens);
        hypothesis.text += each.text;
        const size_t begin = first;
        first += each.tokens.size();
        if (without_leading_spaces(each.text).empty()) continue;
        const bool words = !hypothesis.ends.empty();
        if (words) std::ranges::move(words_in(model, each.tokens, hypothesis, begin), std::back_inserter(out.segments));
        (words ? out.phrases : out.segments).push_back(std::move(each));
    }
    out.parts.push_back({0, heard.end, std::move(hypothesis)});
    return out;
}

} // namespace

const model::AudioInput &audio_input_of(const model::Model &model) {
    if (model.speech) return model.speech->audio;
    if (!model.generation || !model.generation->audio)
        throw Error(ErrorCode::input, model.folder.string() + ": this model does not take audio");
    return *model.generation->audio;
}

void expect_samples(Samples audio, size_t number) {
    const std::string name = "audio " + std::to_string(number);
    if (audio.empty()) throw Error(ErrorCode::input, name + ": no samples");
    if (!std::ranges::all_of(audio, [](float v) { return std::isfinite(v); }))
        throw Error(ErrorCode::input, name + ": a sample is NaN or infinite");
}

Transcript joined(const std::vector<Transcript> &windows) {
    Transcript out;
    for (const Transcript &window : windows) append(out, window, end_of(out));
    return out;
}

std::vector<Samples> windows_of(Samples audio, const model::AudioInput &input) {
    const auto length = static_cast<size_t>(input.length), from = length - length / 6;
    const size_t width = std::clamp<size_t>(static_cast<size_t>(input.rate) / 5, 1, length - from);
    std::vector<Samples> out;
    while (audio.size() > length) {
        const size_t end = quietest(audio.first(length), from, width);
        out.push_back(audio.first(end));
        audio = audio.subspan(end);
    }
    out.push_back(audio);
    return out;
}

namespace {

class Recordings {
  public:
    Recordings(detail::SessionState &session, const std::vector<Samples> &audios, const GenerateOptions &options)
        : session_(session), input_(audio_input_of(*session.model)), audios_(audios), options_(options),
          out_(audios.size()), begun_(audios.size()), failed_(audios.size()), heard_(audios.size()) {
        check(audios, options);
        for (size_t i = 0; i < audios.size() && options.skip_silence; ++i)
            voices_.push_back(voiced(audios[i], input_.rate));
    }

    void hear_all() {
        if (seeks()) return seek();
        std::vector<Window> windows;
        for (size_t i = 0; i < audios_.size(); ++i)
            for (const Samples window : windows_in(i)) windows.push_back({i, window});
        hear(windows);
    }
    // The beginning of each, as much as fits a window.
    void hear_once() {
        std::vector<Window> windows;
        for (size_t i = 0; i < audios_.size(); ++i) windows.push_back(next_of(i));
        hear(windows);
    }
    [[nodiscard]] std::vector<Transcript> results() { return std::move(out_); }

  private:
    struct Window {
        size_t audio;
        Samples samples;
    };

    // Whether a window begins where the one before it says.
    [[nodiscard]] bool seeks() const { return options_.timestamps != Timestamps::none && !session_.model->speech; }

    // Of each audio one window at a time; of those that are shown as they come, of one audio.
    void seek() {
        while (true) {
            std::vector<Window> windows;
            for (size_t i = 0; i < audios_.size() && (windows.empty() || !options_.stream); ++i)
                if (!failed_[i] && heard_[i] < audios_[i].size()) {
                    const Window next = next_of(i);
                    if (next.samples.empty()) heard_[i] = audios_[i].size(); // nobody speaks any more
                    if (!next.samples.empty()) windows.push_back(next);
                }
            if (windows.empty()) return;
            hear(windows);
            if (options_.progress) tell_progress();
        }
    }
    [[nodiscard]] double rate() const { return static_cast<double>(input_.rate); }
    [[nodiscard]] Window next_of(size_t audio) const {
        const Samples all = audios_[audio], rest = all.subspan(heard_[audio]);
        const auto length = static_cast<size_t>(input_.length);
        if (!options_.skip_silence) return {audio, rest.first(std::min(rest.size(), length))};
        const Stretch next = next_heard(voices_[audio], heard_[audio], length, all.size());
        return {audio, all.subspan(next.begin, next.end - next.begin)};
    }
    [[nodiscard]] std::vector<Samples> windows_in(size_t audio) const {
        const Samples all = audios_[audio];
        if (!options_.skip_silence) return windows_of(all, input_);
        std::vector<Samples> out;
        const auto length = static_cast<size_t>(input_.length);
        for (size_t at = 0; at < all.size();) {
            const Stretch next = next_heard(voices_[audio], at, length, all.size());
            const bool goes_on = std::ranges::any_of(
                voices_[audio], [&](const Stretch &voice) { return voice.begin < next.end && next.end < voice.end; });
            const Samples rest = all.subspan(next.begin, next.end - next.begin + (goes_on ? 1 : 0));
            if (!rest.empty()) out.push_back(windows_of(rest, input_).front()); // one sample too many has it cut
            at = rest.empty() ? all.size() : next.begin + out.back().size();
        }
        return out;
    }

    [[nodiscard]] double begin_of(const Window &window) const { // in seconds
        return static_cast<double>(window.samples.data() - audios_[window.audio].data()) / rate();
    }

    void hear(const std::vector<Window> &windows) {
        if (windows.empty()) return;
        GenerateOptions how = options_;
        how.hypotheses = 1;
        how.first += count_;
        if (options_.stream) how.batch = 1;
        if (options_.stream && !seeks())
            how.stream = [&](size_t window, std::string_view piece) { show(windows[window].audio, piece); };
        else
            how.stream = nullptr;
        how.failed = [&](size_t window, const Error &why) { fail(windows[window].audio, why); };
        if (seeks()) how.progress = nullptr;
        std::vector<Transcript> found = transcripts_of(windows, how);
        count_ += windows.size();
        for (size_t w = 0; w < windows.size(); ++w)
            if (!failed_[windows[w].audio]) take(windows[w], std::move(found[w]));
    }

    // A window that is shorter than a frame has no text.
    [[nodiscard]] bool is_heard(Samples window) const {
        return !input_.frames || input_.frames->lengths.count(static_cast<int64_t>(window.size())) != 0;
    }
    [[nodiscard]] std::vector<Source> heard_sources(const std::vector<Samples> &windows) const {
        std::vector<Source> out;
        for (const Samples each : windows) out.emplace_back(is_heard(each) ? each : Samples());
        return out;
    }

    // Of windows by themselves; those that failed have no parts.
    std::vector<Transcript> transcripts_of(const std::vector<Window> &windows, const GenerateOptions &how) {
        std::vector<Samples> samples;
        for (const Window &each : windows) samples.push_back(each.samples);
        const auto seconds = [&](size_t window) { return static_cast<double>(samples[window].size()) / rate(); };
        std::vector<Transcript> out(windows.size());
        if (session_.model->speech) {
            out = recognized(session_, samples, how);
            for (size_t w = 0; w < out.size(); ++w)
                if (!out[w].parts.empty()) out[w].parts.front().end = seconds(w);
            return out;
        }
        auto found = generate_from(session_, heard_sources(samples), how);
        for (size_t w = 0; w < out.size(); ++w) {
            if (!is_heard(samples[w])) found[w].emplace_back().finish = Finish::end;
            if (found[w].empty()) continue;
            const std::string language = language_of(*session_.model, found[w].front().start);
            if (seeks())
                out[w] = with_segments(*session_.model, seconds(w), std::move(found[w].front()));
            else
                out[w].parts.push_back({0, seconds(w), std::move(found[w].front())});
            out[w].language = language;
        }
        return out;
    }

    void take(const Window &window, Transcript transcript) {
        Transcript &to = out_[window.audio];
        const size_t before = to.segments.size();
        append(to, std::move(transcript), options_.skip_silence ? begin_of(window) : end_of(to));
        heard_[window.audio] =
            std::min(audios_[window.audio].size(), static_cast<size_t>(std::llround(to.parts.back().end * rate())));
        for (size_t i = before; seeks() && options_.stream && i < to.segments.size(); ++i)
            show(window.audio, to.segments[i].text);
    }

    void show(size_t audio, std::string_view piece) {
        if (!begun_[audio]) piece = without_leading_spaces(piece);
        if (piece.empty()) return;
        begun_[audio] = true;
        options_.stream(audio, piece);
    }

    void fail(size_t audio, const Error &why) {
        if (!options_.failed) throw Error(why.code(), "audio " + std::to_string(audio + 1) + ": " + why.what());
        if (!failed_[audio]) options_.failed(audio, why);
        failed_[audio] = true;
        out_[audio] = {};
    }

    // In windows, as if none of them was heard again.
    void tell_progress() const {
        const auto length = static_cast<size_t>(input_.length);
        size_t done = 0, all = 0;
        for (size_t i = 0; i < audios_.size(); ++i) {
            const size_t windows = (audios_[i].size() + length - 1) / length;
            all += windows;
            done += failed_[i] || heard_[i] == audios_[i].size() ? windows : heard_[i] / length;
        }
        options_.progress(done, all);
    }

    detail::SessionState &session_;
    const model::AudioInput &input_;
    const std::vector<Samples> &audios_;
    const GenerateOptions &options_;
    std::vector<Transcript> out_;
    std::vector<bool> begun_, failed_;
    std::vector<size_t> heard_;                // samples of each
    std::vector<std::vector<Stretch>> voices_; // of each, with skip_silence
    uint64_t count_ = 0;                       // windows, each of which draws random numbers of its own
};

} // namespace

std::vector<Transcript> transcribe(detail::SessionState &session, const std::vector<Samples> &audios,
                                   const GenerateOptions &options) {
    Recordings recordings(session, audios, options);
    recordings.hear_all();
    return recordings.results();
}

std::vector<Transcript> transcribe_windows(detail::SessionState &session, const std::vector<Samples> &windows,
                                           const GenerateOptions &options) {
    const int64_t longest = audio_input_of(*session.model).length;
    if (options.skip_silence)
        throw Error(ErrorCode::usage, "skip_silence: does not apply to windows, which are heard as they are");
    for (size_t i = 0; i < windows.size(); ++i)
        if (windows[i].size() > static_cast<size_t>(longest))
            throw Error(ErrorCode::usage, "window " + std::to_string(i + 1) + ": expected at most " +
                                              std::to_string(longest) + " samples, found " +
                                              std::to_string(windows[i].size()));
    Recordings recordings(session, windows, options);
    recordings.hear_once();
    return recordings.results();
}

} // namespace lamina::generation
