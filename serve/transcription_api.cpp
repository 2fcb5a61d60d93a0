// What answers /v1/audio/transcriptions.
#include "openai_request.hpp"
#include "openai_result.hpp"
#include "route.hpp"
#include "schemas.hpp"

#include "base/joined.hpp"
#include "base/memory_file.hpp"
#include "base/nearest.hpp"

#include <lamina/inspect.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace lamina::serve {
namespace {

using Format = TranscriptionRequest::Format;

const std::vector<std::pair<std::string, Format>> formats{{"json", Format::json},
                                                          {"text", Format::text},
                                                          {"verbose_json", Format::verbose_json},
                                                          {"srt", Format::srt},
                                                          {"vtt", Format::vtt}};

[[noreturn]] void refuse_field(const FormField &field, const std::string &message) {
    throw Error(ErrorCode::input, "request: /" + field.name + ": " + message);
}

// JSON as a field of a form has it: texts without quotes.
std::string plain(std::string_view json) {
    return std::string(json.starts_with('"') ? json.substr(1, json.size() - 2) : json);
}

void read_format(const FormField &field, TranscriptionRequest &out) {
    const auto found = std::ranges::find(formats, field.content, &std::pair<std::string, Format>::first);
    if (found == formats.end())
        refuse_field(field,
                     "unknown format '" + std::string(field.content) + "'; there are " + joined(names_of(formats)));
    out.format = found->second;
}

void read_temperature(const FormField &field, TranscriptionRequest &out) {
    const char *end = field.content.data() + field.content.size();
    const auto [stop, error] = std::from_chars(field.content.data(), end, out.options.temperature);
    if (error != std::errc{} || stop != end || !(out.options.temperature >= 0 && out.options.temperature <= 100))
        refuse_field(field, "expected a number from 0 to 100, found '" + std::string(field.content) + "'");
}

void read_granularity(const FormField &field, TranscriptionRequest &out) {
    if (field.content != "segment" && field.content != "word")
        refuse_field(field, "expected segment or word, found '" + std::string(field.content) + "'");
    (field.content == "word" ? out.words : out.segments) = true;
}

void read_field(const FormField &field, TranscriptionRequest &out) {
    const std::string &name = field.name;
    const Fields &fields = fields_of("TranscriptionRequest");
    if (const auto only = std::ranges::find(fields.only, name, &Fields::Only::field); only != fields.only.end()) {
        const std::string value = plain(only->value);
        if (field.content != value) refuse_field(field, "not supported: expected no such field, or '" + value + "'");
    } else if (name == "file") {
        out.file = field.file, out.audio = field.content;
    } else if (name == "model") {
        out.model = field.content;
    } else if (name == "language") {
        out.options.choices["language"] = field.content;
    } else if (name == "response_format") {
        read_format(field, out);
    } else if (name == "temperature") {
        read_temperature(field, out);
    } else if (name == "timestamp_granularities[]") {
        read_granularity(field, out);
    } else {
        refuse_field(field, "unknown field; supported are " + joined(fields.supported));
    }
}

// At the model's rate, at which its length bounds its memory. Messages name the file as the client does.
Audio read_upload(const TranscriptionRequest &request, const Model &model, const std::function<void()> &working) {
    constexpr int64_t longest_audio = 3 * 3600;                     // seconds
    const MemoryFile file(std::as_bytes(std::span(request.audio))); // audio is read from files
    const std::string path = file.path().string();
    try {
        return read_audio(file.path(),
                          {.rate = inspect(model).audio()->rate, .longest = longest_audio, .working = working});
    } catch (const Error &why) {
        const std::string name = request.file.empty() ? "the file" : request.file;
        throw Error(why.code(), "request: /file: " + replaced(why.what(), path, name));
    }
}

std::string chosen(const Choices &choices, const char *name, const char *otherwise) {
    const auto found = choices.find(name);
    return found == choices.end() ? otherwise : found->second;
}

// Of what the answer shows, as far as the model tells it.
Timestamps timestamps_of(const TranscriptionRequest &request, const AudioFormat &audio) {
    if (request.words) {
        if (!audio.tells(Timestamps::words))
            throw Error(ErrorCode::input, "request: /timestamp_granularities[]: this model does not tell the times of "
                                          "words; expected segment");
        return Timestamps::words;
    }
    const bool shown = request.format != Format::json && request.format != Format::text;
    return shown && audio.tells(Timestamps::segments) ? Timestamps::segments : Timestamps::none;
}

Response transcript_response(const TranscriptionRequest &request, const Transcript &transcript) {
    switch (request.format) {
    case Format::text:
        return {.type = "text/plain; charset=utf-8", .body = transcript.text + "\n"};
    case Format::srt:
        return {.type = "text/plain; charset=utf-8", .body = subtitles(transcript, Subtitles::srt)};
    case Format::vtt:
        return {.type = "text/vtt; charset=utf-8", .body = subtitles(transcript, Subtitles::vtt)};
    case Format::verbose_json:
        return {.body = verbose_transcript_json(transcript, chosen(request.options.choices, "task", "transcribe"),
                                                {request.segments || !request.words, request.words})};
    case Format::json:
        break;
    }
    return {.body = transcript_json(transcript)};
}

} // namespace

TranscriptionRequest transcription_request(const std::vector<FormField> &form) {
    if (form.empty())
        throw Error(ErrorCode::input, "request: expected a form (multipart/form-data) with the fields file and model");
    TranscriptionRequest out;
    for (const FormField &field : form) read_field(field, out);
    if (out.model.empty()) throw Error(ErrorCode::input, "request: the field 'model' is missing");
    if (out.audio.empty()) throw Error(ErrorCode::input, "request: the field 'file' is missing or empty");
    if ((out.segments || out.words) && out.format != Format::verbose_json)
        throw Error(ErrorCode::input, "request: /timestamp_granularities[]: expected a response_format verbose_json");
    return out;
}

Response Api::transcriptions(const Call &call) {
    const TranscriptionRequest request = transcription_request(form_of(call.request));
    Engine &engine = engine_called(call, request.model);
    if (!engine.transcribes())
        throw Refusal(400, request.model + " does not take audio; /v1/models says what each model does", "model");
    const auto work = call.work<Transcription>();
    work->options = request.options;
    const AudioFormat format = *inspect(engine.model()).audio();
    work->options.timestamps = timestamps_of(request, format);
    work->seeks = work->options.timestamps != Timestamps::none && format.tells(Timestamps::segments);
    auto turn = take(audio_, 1, call.request);
    Audio audio = read_upload(request, engine.model(), [&] { expect_time(call.request); });
    if (work->seeks)
        work->windows.push_back(std::move(audio));
    else
        work->windows = audio_windows(engine.model(), audio);
    size_t samples = 0;
    for (const Audio &window : work->windows) samples += window.samples.size();
    const auto memory = work->memory = take(audio_memory_, samples * sizeof(float), call.request);
    turn.reset();
    engine.submit(work);
    await(*work, call.request);
    const Transcript transcript = joined_transcript(work->transcripts);
    size_t tokens = 0;
    for (const Transcript::Part &part : transcript.parts) tokens += part.hypothesis.tokens.size();
    count(call, {.answer = tokens});
    return transcript_response(request, transcript);
}

} // namespace lamina::serve
