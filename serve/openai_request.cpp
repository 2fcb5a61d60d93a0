#include "openai_request.hpp"

#include "answer_grammar.hpp"
#include "fields.hpp"
#include "tools.hpp"

#include "base/joined.hpp"
#include "base/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lamina::serve {
namespace {

constexpr size_t most_texts = 2048; // of one request, as OpenAI has it
constexpr size_t most_choices = 128;
constexpr int64_t longest = 1 << 20; // tokens

constexpr std::array<std::string_view, 8> ignored{"user",
                                                  "metadata",
                                                  "store",
                                                  "service_tier",
                                                  "safety_identifier",
                                                  "prompt_cache_key",
                                                  "prompt_cache_retention",
                                                  "stream_options"};

constexpr std::array neutral_of_completions{Neutral{"frequency_penalty", "0"}, Neutral{"presence_penalty", "0"},
                                            Neutral{"logit_bias", "{}"},       Neutral{"best_of", "1"},
                                            Neutral{"echo", "false"},          Neutral{"suffix", "\"\""},
                                            Neutral{"logprobs", "null"}};

constexpr std::array neutral_of_chats{
    Neutral{"frequency_penalty", "0"},    Neutral{"presence_penalty", "0"}, Neutral{"logit_bias", "{}"},
    Neutral{"logprobs", "false"},         Neutral{"top_logprobs", "0"},     Neutral{"functions", "[]"},
    Neutral{"function_call", "\"none\""}, Neutral{"audio", "null"},         Neutral{"prediction", "null"},
    Neutral{"reasoning_effort", "null"},  Neutral{"verbosity", "null"},     Neutral{"web_search_options", "null"}};

constexpr std::array neutral_of_messages{Neutral{"name", "null"}, Neutral{"refusal", "null"}, Neutral{"audio", "null"},
                                         Neutral{"function_call", "null"}};

// Both ends are inclusive.
double number_within(const JsonView &value, double least, double most) {
    const double number = value.number();
    if (number >= least && number <= most) return number;
    const auto text = [](double n) { return n == std::floor(n) ? std::to_string(int64_t(n)) : std::to_string(n); };
    value.fail("expected a number from " + text(least) + " to " + text(most) + ", found " + value.description());
}

void read_stop(const JsonView &value, AnswerRequest &out) {
    constexpr size_t most = 64; // each token is compared with all of them
    out.stop = texts_of(value, most);
    for (const std::string &text : out.stop)
        if (text.empty()) value.fail("expected texts that are not empty");
}

void read_answer_fields(const JsonView &request, AnswerRequest &out) {
    out.model = request.at("model").string();
    const auto real = [&](const char *field, std::optional<double> &to, double least, double most) {
        if (request.has(field)) to = number_within(request.at(field), least, most);
    };
    real("temperature", out.temperature, 0, 100);
    real("top_p", out.top_p, std::numeric_limits<double>::min(), 1);
    real("min_p", out.min_p, 0, 1);
    real("repetition_penalty", out.repetition_penalty, 0.01, 100);
    if (request.has("top_k")) out.top_k = static_cast<uint64_t>(request.at("top_k").integer(0, longest));
    if (request.has("seed"))
        out.seed = static_cast<uint64_t>(
            request.at("seed").integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
    for (const char *field : {"max_tokens", "max_completion_tokens"})
        if (request.has(field)) out.max_length = request.at(field).integer(1, longest);
    if (request.has("n"))
        out.choices = static_cast<size_t>(request.at("n").integer(1, static_cast<int64_t>(most_choices)));
    if (request.has("stop")) read_stop(request.at("stop"), out);
    out.grammar = grammar_of(request);
    if (request.has("stream")) out.stream = request.at("stream").boolean();
    if (!out.stream || !request.has("stream_options")) return;
    const JsonView how = request.at("stream_options");
    expect_fields(how, {{"include_usage", "include_obfuscation"}, {}, {}});
    out.stream_usage = how.has("include_usage") && how.at("include_usage").boolean();
}

std::vector<std::string> answer_fields(const std::string &subject, const std::vector<std::string> &more = {}) {
    std::vector<std::string> out{"model",
                                 subject,
                                 "max_tokens",
                                 "temperature",
                                 "top_p",
                                 "n",
                                 "stop",
                                 "seed",
                                 "stream",
                                 "top_k",
                                 "min_p",
                                 "repetition_penalty",
                                 "response_format",
                                 "structured_outputs"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

ChatMessage message_of(const JsonView &from) {
    std::string role(from.at("role").string());
    if (role == "tool")
        expect_fields(from, {{"role", "content", "tool_call_id", "name"}, {}, {}});
    else if (role == "assistant")
        expect_fields(from, {{"role", "content", "tool_calls", "reasoning_content"}, {}, neutral_of_messages});
    else
        expect_fields(from, {{"role", "content"}, {}, neutral_of_messages});
    if (role == "developer") role = "system"; // its later name; templates know the former
    return {std::move(role), content_of(from)};
}

// Only what is the default anyway.
void expect_plain_text(const JsonView &request) {
    if (!request.has("modalities")) return;
    for (const JsonView each : request.at("modalities").items())
        if (each.string() != "text") each.fail("not supported: only \"text\" is");
}

} // namespace

AnswerRequest completion_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, {answer_fields("prompt"), ignored, neutral_of_completions});
    AnswerRequest out;
    read_answer_fields(request, out);
    const JsonView prompt = request.at("prompt");
    out.prompts = texts_of(prompt, most_texts);
    if (out.prompts.empty()) prompt.fail("expected at least one text");
    if (out.prompts.size() * out.choices > most_texts)
        prompt.fail("expected at most " + std::to_string(most_texts) + " answers, found " +
                    std::to_string(out.prompts.size()) + " prompts of " + std::to_string(out.choices) + " each");
    return out;
}

AnswerRequest chat_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, {answer_fields("messages", {"max_completion_tokens", "modalities", "tools", "tool_choice",
                                                       "parallel_tool_calls", "chat_template_kwargs"}),
                            ignored, neutral_of_chats});
    AnswerRequest out;
    read_answer_fields(request, out);
    expect_plain_text(request);
    for (const JsonView message : request.at("messages").items()) out.messages.push_back(message_of(message));
    if (out.messages.empty()) request.at("messages").fail("expected at least one message");
    if (request.has("chat_template_kwargs"))
        for (const JsonView each : request.at("chat_template_kwargs").members()) {
            if (each.key() == "messages" || each.key() == "tools")
                each.fail("expected as a field of the request itself");
            out.variables.insert_or_assign(std::string(each.key()), each.written());
        }
    out.variables["messages"] = messages_for_template(request.at("messages")).in_one_line();
    out.tools = tools_of(request);
    if (out.tools) out.variables["tools"] = out.tools->json;
    if (out.tools && out.grammar) request.at("tools").fail("cannot be used with a grammar for the answer");
    return out;
}

GenerateOptions options_of(const AnswerRequest &request, const GenerateOptions &suggested, uint64_t seed) {
    GenerateOptions out;
    out.temperature = request.temperature.value_or(suggested.temperature);
    out.repetition_penalty = request.repetition_penalty ? request.repetition_penalty : suggested.repetition_penalty;
    if (out.temperature > 0) {
        out.top_k = request.top_k.value_or(suggested.top_k);
        out.top_p = request.top_p.value_or(suggested.top_p);
        out.min_p = request.min_p.value_or(suggested.min_p);
        out.top_h = suggested.top_h;
        out.typical_p = suggested.typical_p;
        out.epsilon_cutoff = suggested.epsilon_cutoff;
        out.eta_cutoff = suggested.eta_cutoff;
        out.seed = request.seed.value_or(seed);
    } else if (!request.temperature) {
        const char *idle = request.top_k.value_or(0) != 0   ? "top_k"
                           : request.top_p.value_or(1) != 1 ? "top_p"
                           : request.min_p.value_or(0) != 0 ? "min_p"
                           : request.choices > 1            ? "n"
                                                            : nullptr;
        if (idle != nullptr)
            throw Error(ErrorCode::input, std::string("request: /") + idle +
                                              ": has no effect without a temperature, for which this model's makers "
                                              "suggest nothing; set it, too");
    }
    out.max_length = request.max_length.value_or(0);
    out.grammar = request.grammar;
    out.stop = request.stop;
    return out;
}

EmbeddingRequest embedding_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, {{"model", "input", "encoding_format", "dimensions"}, ignored, {}});
    EmbeddingRequest out;
    out.model = request.at("model").string();
    const JsonView input = request.at("input");
    out.texts = texts_of(input, most_texts);
    if (out.texts.empty()) input.fail("expected at least one text");
    if (request.has("encoding_format")) {
        const JsonView format = request.at("encoding_format");
        if (format.string() != "float" && format.string() != "base64")
            format.fail("expected \"float\" or \"base64\", found " + format.description());
        out.base64 = format.string() == "base64";
    }
    if (request.has("dimensions")) out.width = request.at("dimensions").integer(1, longest);
    return out;
}

} // namespace lamina::serve
