#include "generation/transcribe.hpp"

#include "generation/generation.hpp"
#include "generation/speech.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::generation {
namespace {

// The best hypothesis of each window.
std::vector<Hypothesis> hypotheses_of(detail::SessionState &session, const std::vector<Samples> &windows,
                                      const GenerateOptions &options) {
    if (session.model->speech) return recognized(session, windows, options);
    auto found = generate_from(session, {windows.begin(), windows.end()}, options);
    std::vector<Hypothesis> out(windows.size());
    for (size_t w = 0; w < out.size(); ++w)
        if (!found[w].empty()) out[w] = std::move(found[w].front()); // else it failed
    return out;
}

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

void append(Transcript &to, double seconds, Hypothesis hypothesis) {
    if (to.text.empty())
        to.text = without_leading_spaces(hypothesis.text);
    else
        to.text += hypothesis.text;
    const double begin = to.parts.empty() ? 0 : to.parts.back().end;
    to.parts.push_back({begin, begin + seconds, std::move(hypothesis)});
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
    for (const Transcript &window : windows)
        for (const Transcript::Part &part : window.parts) append(out, part.end - part.begin, part.hypothesis);
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

std::vector<Transcript> transcribe(detail::SessionState &session, const std::vector<Samples> &audios,
                                   const GenerateOptions &options) {
    const model::AudioInput &input = audio_input_of(*session.model);
    check(audios, options);
    std::vector<Samples> windows;
    std::vector<size_t> audio_of; // by window
    for (size_t i = 0; i < audios.size(); ++i)
        for (const Samples window : windows_of(audios[i], input)) windows.push_back(window), audio_of.push_back(i);

    GenerateOptions of_windows = options;
    of_windows.hypotheses = 1;
    std::vector<bool> begun(audios.size());
    if (options.stream) {
        of_windows.batch = 1;
        of_windows.stream = [&](size_t window, std::string_view piece) {
            const size_t audio = audio_of[window];
            if (!begun[audio]) piece = without_leading_spaces(piece);
            if (piece.empty()) return;
            begun[audio] = true;
            options.stream(audio, piece);
        };
    }
    std::vector<bool> failed(audios.size());
    of_windows.failed = [&](size_t window, const Error &why) {
        const size_t audio = audio_of[window];
        if (!options.failed) throw Error(why.code(), "audio " + std::to_string(audio + 1) + ": " + why.what());
        if (!failed[audio]) options.failed(audio, why);
        failed[audio] = true;
    };
    std::vector<Hypothesis> found = hypotheses_of(session, windows, of_windows);

    std::vector<Transcript> out(audios.size());
    const auto seconds = [&](size_t samples) { return static_cast<double>(samples) / static_cast<double>(input.rate); };
    for (size_t w = 0; w < windows.size(); ++w) {
        if (failed[audio_of[w]]) continue;
        append(out[audio_of[w]], seconds(windows[w].size()), std::move(found[w]));
    }
    return out;
}

} // namespace lamina::generation
