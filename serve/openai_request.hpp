// Requests in the form of OpenAI's API, from text. All functions throw Error(input), with the place in the request, for
// anything that is wrong or not supported. docs/serving.md lists the fields.
#pragma once

#include "answer_grammar.hpp"
#include "form.hpp"
#include "images.hpp"
#include "tools.hpp"

#include "base/json_reader.hpp"

#include <lamina/chat_template.hpp>
#include <lamina/lamina.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// Of /v1/completions, which continues `prompts`, and of /v1/chat/completions, which answers `messages`.
struct AnswerRequest {
    std::string model;
    std::vector<std::string> prompts;
    std::vector<std::vector<int32_t>> ids; // in place of prompts
    std::vector<ChatMessage> messages;
    std::vector<GivenImage> images; // of all of them
    size_t choices = 1;             // how many answers to each prompt
    size_t tried = 0;               // of so many, if these are more, the best are told
    bool echo = false;              // answers begin with their prompts
    bool echo_alone = false;        // and end there
    bool stream = false, stream_usage = false;
    std::optional<int64_t> max_length;
    std::map<std::string, double, std::less<>> sampling; // numbers of sampling.hpp
    std::map<int32_t, double> biases;                    // by token
    int64_t min_length = 0;                              // in tokens
    bool ignore_end = false;
    Choices languages;               // of one that translates
    std::optional<size_t> likeliest; // how many of the likeliest tokens are told of in each place; nothing: no scores
    std::optional<uint64_t> seed;
    std::vector<std::string> stop;
    struct Adapter {
        size_t id = 0;
        double scale = 0; // 0: without it
    };
    std::optional<std::vector<Adapter>> lora; // of the model, by id; nothing: as the model is
    MakeGrammar grammar;                      // of which every answer must be, or null
    // ---- Of a conversation ----
    std::optional<Tools> tools;
    std::optional<bool> shortens;                 // leaves out the oldest turns if it is too long
    std::map<std::string, std::string> variables; // of the chat template, as JSON; messages with all that they have
};
[[nodiscard]] AnswerRequest completion_request(std::string_view body);
[[nodiscard]] AnswerRequest chat_request(std::string_view body);
// Where ids of tokens are asked for.
void expect_texts_alone(const AnswerRequest &request);
// "messages", "tools", "reasoning_effort" and "chat_template_kwargs".
void read_conversation(const JsonView &request, AnswerRequest &out);
// How much a model is to think.
void expect_effort(const JsonView &effort);

// Fields that mean the same in every API, beyond those that it defines: numbers of sampling.hpp, seed, stream.
[[nodiscard]] std::vector<std::string> shared_fields();

// What the request leaves open is as the model's makers suggest. Without a seed, `seed` is taken. Throws Error(input)
// if a field would have no effect.
[[nodiscard]] GenerateOptions options_of(const AnswerRequest &request, const GenerateOptions &suggested, uint64_t seed);

struct EmbeddingRequest {
    std::string model;
    std::vector<std::string> texts;
    std::vector<std::vector<int32_t>> ids; // in place of texts
    bool base64 = false;
    std::optional<int64_t> width;
    std::optional<bool> cut; // texts that are too long
    bool windows = false;    // or they are read in parts
};
[[nodiscard]] EmbeddingRequest embedding_request(std::string_view body);

struct TranscriptionRequest {
    enum class Format { json, text, verbose_json, srt, vtt };
    std::string model, file; // file: its name
    std::string_view audio;  // its bytes, in the body of the request
    Format format = Format::json;
    bool segments = false, words = false; // timestamp_granularities[]
    GenerateOptions options;
};
[[nodiscard]] TranscriptionRequest transcription_request(const std::vector<FormField> &form);

} // namespace lamina::serve
