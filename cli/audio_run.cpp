#include "audio_run.hpp"

#include "interrupt.hpp"
#include "text_run.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace lamina::cli {
namespace {

Json as_json(const std::vector<Transcript::Segment> &segments) {
    Json out = Json::array();
    for (const Transcript::Segment &each : segments)
        out.push_back({{"begin", each.begin},
                       {"end", each.end},
                       {"output", each.text},
                       {"tokens", each.tokens},
                       {"part", each.part}});
    return out;
}

// `out`: what is known before.
Json as_json(Json out, const Transcript &transcript, bool with_segments) {
    Json parts = Json::array();
    for (const Transcript::Part &part : transcript.parts)
        parts.push_back({{"begin", part.begin},
                         {"end", part.end},
                         {"output", part.hypothesis.text},
                         {"log_probability", part.hypothesis.log_probability},
                         {"tokens", part.hypothesis.tokens},
                         {"finish", finish_name(part.hypothesis.finish)}});
    out["output"] = transcript.text;
    out["parts"] = std::move(parts);
    if (!transcript.language.empty()) out["language"] = transcript.language;
    if (with_segments) out["segments"] = as_json(transcript.segments);
    if (!transcript.phrases.empty()) out["phrases"] = as_json(transcript.phrases);
    return out;
}

// BEGIN<TAB>END<TAB>TEXT, in seconds.
std::string line_of(const Transcript::Segment &segment) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(2) << segment.begin << '\t' << segment.end << '\t';
    return out.str() + segment.text.substr(std::min(segment.text.find_first_not_of(' '), segment.text.size())) + "\n";
}

// What a file begins with would pass for samples.
void expect_samples(std::string_view begin) {
    for (const std::string_view file : {"RIFF", "fLaC", "OggS"})
        if (begin.starts_with(file))
            throw Error(ErrorCode::input, "stdin: begins with '" + std::string(file) +
                                              "', as a file does; expected samples of 16 bits alone: give the file's "
                                              "name instead of --listen");
}

} // namespace

void AudioRun::files(const std::vector<std::string> &files) {
    const bool plain = !output_.json() && !subtitles_ && options_.timestamps == Timestamps::none;
    if (files.size() == 1 && options_.beams == 1 && plain) return stream(files.front());
    transcribe_all(files, [](size_t, const Error &why) { throw Error(why); });
    if (output_.json()) output_.print_json(json_);
}

int AudioRun::lines(LineReader lines) {
    for (auto files = lines.next(options_.batch); !files.empty(); files = lines.next(options_.batch))
        transcribe_all(files, [&](size_t file, const Error &why) {
            lines.refuse(file, why.what(), why.code());
            if (output_.json()) json_.push_back({{"file", files[file]}, {"error", why.what()}});
        });
    if (output_.json()) output_.print_json(json_);
    return lines.status(output_);
}

void AudioRun::stream(const std::string &file) {
    const Audio audio = read_audio(file, {.rate = format_.rate, .working = stop_if_interrupted});
    Pace pace;
    std::string before = file + "\t"; // as of texts
    options_.stream = [&](size_t, std::string_view piece) {
        pace.token();
        output_.print(std::exchange(before, "") + std::string(piece));
        stop_if_interrupted();
    };
    options_.progress = [](size_t, size_t) { stop_if_interrupted(); };
    size_t tokens = 0;
    for (const Transcript::Part &part : transcribe(session_, {audio}, options_).front().parts)
        tokens += part.hypothesis.tokens.size();
    output_.print(before + "\n");
    output_.note(pace.summary(tokens));
}

// Reads as many files at a time as fill a batch, to limit memory. Those before one that cannot be read are shown first.
void AudioRun::transcribe_all(const std::vector<std::string> &files, const Unreadable &unreadable) {
    const size_t batch = options_.batch * static_cast<size_t>(format_.length);
    options_.progress = [&](size_t done, size_t all) {
        stop_if_interrupted();
        output_.progress("windows", done, all);
    };
    for (size_t first = 0; first < files.size();) {
        std::vector<Audio> audios;
        std::optional<Error> why;
        for (size_t samples = 0; samples < batch && first + audios.size() < files.size() && !why;) try {
                audios.push_back(
                    read_audio(files[first + audios.size()], {.rate = format_.rate, .working = stop_if_interrupted}));
                samples += audios.back().samples.size();
            } catch (const Error &e) {
                if (e.code() != ErrorCode::input) throw; // no memory: that is not the file's fault
                why = e;
            }
        std::map<size_t, Error> failed;
        options_.failed = [&](size_t audio, const Error &error) { failed.emplace(audio, error); };
        const auto found = transcribe(session_, audios, options_);
        for (size_t i = 0; i < found.size(); ++i) {
            if (const auto error = failed.find(i); error != failed.end())
                unreadable(first + i, error->second);
            else
                show(files[first + i], found[i]);
            options_.first += found[i].parts.size(); // each part draws random numbers of its own
        }
        output_.clear_progress();
        first += audios.size();
        if (why) unreadable(first++, *why);
    }
}

void AudioRun::show(const std::string &file, const Transcript &transcript) {
    if (output_.json())
        json_.push_back(as_json({{"file", file}}, transcript, options_.timestamps != Timestamps::none));
    else if (subtitles_)
        output_.print(subtitles(transcript, *subtitles_));
    else if (options_.timestamps != Timestamps::none)
        for (const Transcript::Segment &each : transcript.segments) output_.print(file + "\t" + line_of(each));
    else
        output_.print(file + "\t" + transcript.text + "\n");
}

void AudioRun::show_said(const std::vector<Transcript> &utterances) {
    const bool with_segments = options_.timestamps != Timestamps::none;
    for (const Transcript &said : utterances) {
        if (output_.json())
            output_.print_json_line(as_json(Json::object(), said, with_segments));
        else if (with_segments)
            for (const Transcript::Segment &each : said.segments) output_.print(line_of(each));
        else if (!said.text.empty())
            output_.print(said.text + "\n");
    }
}

void AudioRun::listen() {
    wait_for_work(); // what was said before Ctrl-C is transcribed
    Listener listener(session_, options_);
    const auto at_once = static_cast<size_t>(format_.rate / 10);
    std::vector<char> bytes(2 * at_once);
    std::vector<float> samples;
    bool whole = true, begun = false;
    while (std::cin && interrupted() == 0) {
        std::cin.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        const auto count = static_cast<size_t>(std::cin.gcount());
        if (!std::exchange(begun, true)) expect_samples({bytes.data(), count});
        whole = count % 2 == 0;
        samples.clear();
        for (size_t i = 0; i + 1 < count; i += 2) {
            const auto low = static_cast<uint8_t>(bytes[i]), high = static_cast<uint8_t>(bytes[i + 1]);
            samples.push_back(static_cast<float>(static_cast<int16_t>(low | high << 8)) / 32768);
        }
        show_said(listener.add(samples));
    }
    show_said(listener.finish());
    if (interrupted() != 0) throw Interrupted();
    if (!whole)
        throw Error(ErrorCode::input, "stdin: ends within a sample; expected samples of 16 bits, little-endian");
}

} // namespace lamina::cli
