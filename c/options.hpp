// Options as JSON. All functions throw Error, with the place in the options, for what is wrong or unknown.
#pragma once

#include <lamina/lamina.hpp>
#include <lamina/texts.hpp>

#include <map>
#include <string>
#include <utility>

namespace lamina::c {

struct LoadOptions {
    std::string device = "auto";
    RuntimeOptions runtime;
    SessionOptions session;
};
[[nodiscard]] LoadOptions load_options(const char *json);

// `out`: what holds where nothing is said.
[[nodiscard]] GenerateOptions generate_options(const char *json, GenerateOptions out);

struct ConversationOptions {
    GenerateOptions generate;
    bool shortens = true;
    std::map<std::string, std::string> variables; // of the chat template, as JSON
};
[[nodiscard]] ConversationOptions chat_options(const char *json, const GenerateOptions &suggested);

// Of audio.
struct TranscriptionOptions {
    enum class Form { text, json, srt, vtt }; // of the transcript
    GenerateOptions generate;
    Form form = Form::text;
};
[[nodiscard]] TranscriptionOptions transcription_options(const char *json);

[[nodiscard]] ReadOptions read_options(const char *json);

} // namespace lamina::c
