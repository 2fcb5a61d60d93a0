#include <lamina/lamina.h>

#include "options.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <lamina/audio.hpp>
#include <lamina/batch.hpp>
#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct lamina_model {
    lamina::Runtime runtime;
    lamina::Model model;
    lamina::Session session;
};

namespace {

using namespace lamina;

thread_local std::string last_error;

int failed(ErrorCode code, const char *why) {
    try {
        last_error = why;
    } catch (const std::bad_alloc &) {
        last_error.clear(); // nothing fits
    }
    return static_cast<int>(code);
}

// No exception crosses into C.
template <class Work> int guarded(const Work &work) {
    try {
        work();
        return LAMINA_SUCCESS;
    } catch (const Error &e) {
        return failed(e.code(), e.what());
    } catch (const std::bad_alloc &) {
        return failed(ErrorCode::memory, "out of memory");
    } catch (const std::exception &e) {
        return failed(ErrorCode::failure, e.what());
    }
}

template <class Pointer> Pointer *expect(Pointer *pointer, const char *name) {
    if (pointer == nullptr) throw Error(ErrorCode::usage, std::string(name) + ": expected a pointer, found NULL");
    return pointer;
}

// For the caller, who frees it.
template <class Value> Value *copied(std::span<const Value> values) {
    void *const out = std::malloc(std::max<size_t>(values.size_bytes(), 1));
    if (out == nullptr) throw std::bad_alloc();
    std::memcpy(out, values.data(), values.size_bytes());
    return static_cast<Value *>(out);
}
char *copied(const std::string &text) { return copied(std::span<const char>(text.c_str(), text.size() + 1)); }

struct Notice {
    std::mutex mutex;
    lamina_notice *function = nullptr;
    void *user = nullptr;
    std::deque<std::string> lines; // that are still to be told, by the thread that does
    bool is_telling = false;
} notice;

// The mutex is not held while the function runs, which may call Lamina and wait for threads that notify.
void notify(const std::string &line) {
    std::unique_lock lock(notice.mutex);
    notice.lines.push_back(line);
    if (std::exchange(notice.is_telling, true)) return;
    while (!notice.lines.empty()) {
        const std::string next = std::move(notice.lines.front());
        notice.lines.pop_front();
        const auto [function, user] = std::pair(notice.function, notice.user);
        lock.unlock();
        if (function != nullptr)
            function(user, next.c_str());
        else
            std::fprintf(stderr, "lamina: %s\n", next.c_str());
        lock.lock();
    }
    notice.is_telling = false;
}

struct Stopped {}; // by the caller's function

// What `write` returns with the options, or as much of it as the caller wanted.
std::string streamed(GenerateOptions options, lamina_piece *piece, void *user,
                     const std::function<std::string(const GenerateOptions &)> &write) {
    if (piece == nullptr) return write(options);
    std::string so_far;
    options.stream = [&](size_t, std::string_view each) {
        const std::string text(each);
        so_far += text;
        if (piece(user, text.c_str()) != 0) throw Stopped();
    };
    try {
        return write(options);
    } catch (const Stopped &) {
        return so_far;
    }
}

std::string written(lamina_model &model, const std::string &prompt, const GenerateOptions &options, lamina_piece *piece,
                    void *user) {
    return streamed(options, piece, user,
                    [&](const GenerateOptions &how) { return model.session.generate({prompt}, how).front(); });
}

std::string in_form(const Transcript &transcript, c::TranscriptionOptions::Form form) {
    using enum c::TranscriptionOptions::Form;
    if (form == text) return transcript.text;
    if (form != json) return subtitles(transcript, form == srt ? Subtitles::srt : Subtitles::vtt);
    Json segments = Json::array();
    for (const Transcript::Segment &each : transcript.segments)
        segments.push_back({{"begin", each.begin}, {"end", each.end}, {"text", each.text}});
    return Json{{"text", transcript.text}, {"segments", std::move(segments)}}.in_one_line();
}

std::string heard(lamina_model &model, const Audio &audio, const char *options, lamina_piece *piece, void *user) {
    c::TranscriptionOptions wanted = c::transcription_options(options);
    Timestamps &timestamps = wanted.generate.timestamps;
    if (wanted.form == c::TranscriptionOptions::Form::text) {
        if (timestamps != Timestamps::none)
            throw Error(ErrorCode::usage,
                        "timestamps: has no effect with the format text; json, srt and vtt show them");
    } else if (const auto format = inspect(model.model).audio(); timestamps == Timestamps::none && format) {
        if (format->tells(Timestamps::segments)) timestamps = Timestamps::segments;
    }
    return streamed(wanted.generate, piece, user, [&](const GenerateOptions &how) {
        return in_form(transcribe(model.session, {audio}, how).front(), wanted.form);
    });
}

// At the model's rate, so that no more of a file is held.
Audio audio_of(const lamina_model &model, const char *path) {
    const auto format = inspect(model.model).audio();
    if (!format) throw Error(ErrorCode::usage, model.model.name() + " does not transcribe audio");
    return read_audio(path, {.rate = format->rate});
}

// A text, whole or in parts. A message that calls tools may have none.
std::string content_of(const JsonView &message) {
    if (!message.has("content")) return "";
    const JsonView content = message.at("content");
    if (content.is_string()) return std::string(content.string());
    if (!content.is_list()) content.fail("expected a text or a list of parts, found " + content.description());
    std::string out;
    for (const JsonView part : content.items()) {
        if (const JsonView type = part.at("type"); type.string() != "text")
            type.fail("only parts of type \"text\" are supported, found " + type.description());
        out += part.at("text").string();
    }
    return out;
}

// With all that it has; many templates take only texts as content.
std::string for_template(const JsonView &message) {
    std::string out;
    for (const JsonView each : message.members()) {
        const bool is_parts = each.key() == "content" && each.is_list();
        out += (out.empty() ? "" : ", ") + Json(std::string(each.key())).in_one_line() + ": " +
               (is_parts ? Json(content_of(message)).in_one_line() : each.written());
    }
    return "{" + out + "}";
}

struct Conversation {
    std::vector<ChatMessage> messages;
    std::string for_template; // the same, as JSON
};

Conversation conversation_of(const char *json) {
    const JsonText text(json, "messages");
    Conversation out;
    for (const JsonView each : text.root().items()) {
        out.messages.push_back({std::string(each.at("role").string()), content_of(each)});
        out.for_template += (out.for_template.empty() ? "[" : ", ") + for_template(each);
    }
    if (out.messages.empty()) text.root().fail("expected at least one message");
    out.for_template += "]";
    return out;
}

} // namespace

const char *lamina_error() { return last_error.c_str(); }

const char *lamina_version() { return LAMINA_VERSION_NUMBER; }

void lamina_free(void *memory) { std::free(memory); }

void lamina_on_notice(lamina_notice *function, void *user) {
    const std::scoped_lock lock(notice.mutex);
    notice.function = function;
    notice.user = user;
}

int lamina_devices(char **json) {
    return guarded([&] {
        *expect(json, "json") = nullptr;
        Json out = Json::array();
        for (const Device &each : Runtime().devices()) {
            Json unusable = Json::array();
            for (const std::string &why : each.unusable) unusable.push_back(why);
            out.push_back({{"id", each.id},
                           {"name", each.name},
                           {"kind", each.kind},
                           {"memory_bytes", each.memory_bytes},
                           {"unusable", std::move(unusable)}});
        }
        *json = copied(out.in_one_line());
    });
}

int lamina_load(const char *path, const char *options, lamina_model **model) {
    return guarded([&] {
        *expect(model, "model") = nullptr;
        c::LoadOptions how = c::load_options(options);
        how.runtime.notify = notify;
        const Runtime runtime(how.runtime);
        const Model loaded = runtime.load(expect(path, "path"));
        *model = new lamina_model{runtime, loaded, runtime.session(loaded, runtime.device(how.device), how.session)};
    });
}

void lamina_close(lamina_model *model) { delete model; }

int lamina_generate(lamina_model *model, const char *text, const char *options, lamina_piece *piece, void *user,
                    char **out) {
    return guarded([&] {
        *expect(out, "out") = nullptr;
        *out = copied(
            written(*expect(model, "model"), expect(text, "text"), c::generate_options(options, {}), piece, user));
    });
}

int lamina_chat(lamina_model *model, const char *messages, const char *options, lamina_piece *piece, void *user,
                char **out) {
    return guarded([&] {
        *expect(out, "out") = nullptr;
        const Model &content = expect(model, "model")->model;
        const Conversation said = conversation_of(expect(messages, "messages"));
        c::ConversationOptions how = c::chat_options(options, suggested_options(content));
        how.variables["messages"] = said.for_template;
        std::string prompt;
        if (how.shortens) {
            const auto longest = static_cast<size_t>(room_for(model->session, {.slots = 1}).length);
            const auto answer = static_cast<size_t>(how.generate.max_length);
            prompt = shortened_chat_prompt(content, said.messages, longest, answer, how.variables).prompt;
        } else {
            prompt = chat_prompt(content, said.messages, how.variables);
        }
        *out = copied(written(*model, prompt, how.generate, piece, user));
    });
}

int lamina_transcribe(lamina_model *model, const float *samples, size_t count, int64_t rate, const char *options,
                      lamina_piece *piece, void *user, char **text) {
    return guarded([&] {
        *expect(text, "text") = nullptr;
        const std::span<const float> given(count == 0 ? nullptr : expect(samples, "samples"), count);
        const Audio audio{.samples = {given.begin(), given.end()}, .rate = rate};
        *text = copied(heard(*expect(model, "model"), audio, options, piece, user));
    });
}

int lamina_transcribe_file(lamina_model *model, const char *path, const char *options, lamina_piece *piece, void *user,
                           char **text) {
    return guarded([&] {
        *expect(text, "text") = nullptr;
        const Audio audio = audio_of(*expect(model, "model"), expect(path, "path"));
        *text = copied(heard(*model, audio, options, piece, user));
    });
}

int lamina_embed(lamina_model *model, const char *const *texts, size_t count, const char *options, float **vectors,
                 size_t *width) {
    return guarded([&] {
        *expect(vectors, "vectors") = nullptr, *expect(width, "width") = 0;
        std::vector<std::string> list;
        for (size_t i = 0; i < count; ++i) list.emplace_back(expect(expect(texts, "texts")[i], "a text"));
        const Tensor found = embed(expect(model, "model")->session, list, c::read_options(options));
        *vectors = copied(found.f32());
        *width = static_cast<size_t>(found.shape().at(1));
    });
}

int lamina_tokenize(lamina_model *model, const char *text, int special, int32_t **ids, size_t *count) {
    return guarded([&] {
        *expect(ids, "ids") = nullptr, *expect(count, "count") = 0;
        const std::vector<int32_t> found = token_ids(expect(model, "model")->model, expect(text, "text"), special != 0);
        *ids = copied(std::span<const int32_t>(found));
        *count = found.size();
    });
}

int lamina_detokenize(lamina_model *model, const int32_t *ids, size_t count, int skip_special, char **text) {
    return guarded([&] {
        *expect(text, "text") = nullptr;
        const std::span<const int32_t> given(count == 0 ? nullptr : expect(ids, "ids"), count);
        *text = copied(detokenize(expect(model, "model")->model, given, skip_special != 0));
    });
}
