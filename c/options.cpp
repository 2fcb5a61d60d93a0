#include "options.hpp"

#include "base/joined.hpp"
#include "base/json_reader.hpp"

#include <lamina/sampling.hpp>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lamina::c {
namespace {

constexpr int64_t most_tokens = 1 << 30;

// What reads an option's value, by its name.
using Readers = std::map<std::string, std::function<void(const JsonView &)>>;

void read(const char *json, const Readers &readers) {
    if (json == nullptr) return;
    const JsonText text(json, "options");
    std::vector<std::string> known;
    for (const auto &[name, _] : readers) known.push_back(name);
    text.root().allow_keys(known);
    for (const JsonView each : text.root().members()) readers.at(std::string(each.key()))(each);
}

std::string text_of(const JsonView &value) { return std::string(value.string()); }

std::vector<std::string> texts_of(const JsonView &value) {
    if (value.is_string()) return {text_of(value)};
    std::vector<std::string> out;
    for (const JsonView each : value.items()) out.push_back(text_of(each));
    return out;
}

// The value that a name stands for.
template <class Value> Value one_of(const JsonView &name, const std::vector<std::pair<std::string, Value>> &values) {
    std::vector<std::string> known;
    for (const auto &[each, value] : values) {
        if (name.string() == each) return value;
        known.push_back(each);
    }
    name.fail("expected one of " + joined(known) + ", found " + name.description());
}

// Of texts and of audio.
Readers readers_of_tokens(GenerateOptions &out) {
    Readers readers{{"max_length", [&](const JsonView &v) { out.max_length = v.integer(1, most_tokens); }},
                    {"seed", [&](const JsonView &v) {
                         out.seed = static_cast<uint64_t>(v.integer(0, std::numeric_limits<int64_t>::max()));
                     }}};
    for (const SamplingOption &option : sampling_options)
        readers[std::string(option.name)] = [&](const JsonView &v) {
            const double number = v.number();
            if (!option.takes(number)) v.fail("expected " + option.expected() + ", found " + v.description());
            option.set(out, number);
        };
    return readers;
}

void add_choices(std::initializer_list<const char *> names, GenerateOptions &out, Readers &readers) {
    for (const char *name : names) readers[name] = [&out, name](const JsonView &v) { out.choices[name] = text_of(v); };
}

Readers readers_of(GenerateOptions &out) {
    Readers readers = readers_of_tokens(out);
    add_choices({"language", "source_language"}, out, readers);
    readers["min_length"] = [&](const JsonView &v) { out.min_length = v.integer(0, most_tokens); };
    readers["stop"] = [&](const JsonView &v) { out.stop = texts_of(v); };
    readers["json_schema"] = [&](const JsonView &v) { out.grammar = Grammar::json_schema(v.written(), "json_schema"); };
    readers["regex"] = [&](const JsonView &v) { out.grammar = Grammar::regex(v.string(), "regex"); };
    readers["grammar"] = [&](const JsonView &v) { out.grammar = Grammar::gbnf(v.string(), "grammar"); };
    readers["special_tokens"] = [&](const JsonView &v) { out.special_tokens = v.boolean(); };
    readers["guess_ahead"] = [&](const JsonView &v) { out.guess_ahead = static_cast<size_t>(v.integer(0, 64)); };
    readers["reuse"] = [&](const JsonView &v) { out.reuse = v.boolean(); };
    return readers;
}

} // namespace

LoadOptions load_options(const char *json) {
    LoadOptions out;
    read(json, {{"device", [&](const JsonView &v) { out.device = text_of(v); }},
                {"precision", [&](const JsonView &v) { out.session.precision = precision_named(v.string()); }},
                {"cache", [&](const JsonView &v) { out.session.cache = cache_named(v.string()); }},
                {"plugin_folders", [&](const JsonView &v) {
                     for (const std::string &each : texts_of(v)) out.runtime.plugin_folders.emplace_back(each);
                 }}});
    return out;
}

GenerateOptions generate_options(const char *json, GenerateOptions out) {
    read(json, readers_of(out));
    return out;
}

ConversationOptions chat_options(const char *json, const GenerateOptions &suggested) {
    ConversationOptions out{.generate = suggested, .variables = {}};
    out.generate.reuse = true;
    Readers readers = readers_of(out.generate);
    readers["truncation"] = [&](const JsonView &v) {
        if (v.string() != "auto" && v.string() != "disabled")
            v.fail("expected \"auto\" or \"disabled\", found " + v.description());
        out.shortens = v.string() == "auto";
    };
    readers["variables"] = [&](const JsonView &v) {
        for (const JsonView each : v.members()) out.variables[std::string(each.key())] = each.written();
    };
    read(json, readers);
    out.generate.special_tokens = false; // the template has them
    return out;
}

TranscriptionOptions transcription_options(const char *json) {
    using Form = TranscriptionOptions::Form;
    TranscriptionOptions out;
    Readers readers = readers_of_tokens(out.generate);
    add_choices({"language", "task"}, out.generate, readers);
    readers["timestamps"] = [&](const JsonView &v) {
        out.generate.timestamps = one_of<Timestamps>(
            v,
            {{"segments", Timestamps::segments}, {"words", Timestamps::words}, {"characters", Timestamps::characters}});
    };
    readers["skip_silence"] = [&](const JsonView &v) { out.generate.skip_silence = v.boolean(); };
    readers["format"] = [&](const JsonView &v) {
        out.form =
            one_of<Form>(v, {{"text", Form::text}, {"json", Form::json}, {"srt", Form::srt}, {"vtt", Form::vtt}});
    };
    read(json, readers);
    return out;
}

ReadOptions read_options(const char *json) {
    ReadOptions out;
    read(json, {{"truncate", [&](const JsonView &v) { out.truncate = v.boolean(); }},
                {"windows", [&](const JsonView &v) { out.windows = v.boolean(); }},
                {"prompt", [&](const JsonView &v) { out.prompt = text_of(v); }},
                {"batch", [&](const JsonView &v) { out.batch = static_cast<size_t>(v.integer(1, 4096)); }}});
    return out;
}

} // namespace lamina::c
