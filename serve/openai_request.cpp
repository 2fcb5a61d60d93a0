#include "openai_request.hpp"

#include "answer_grammar.hpp"
#include "fields.hpp"
#include "tools.hpp"

#include "base/joined.hpp"
#include "base/json_reader.hpp"

#include <lamina/sampling.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace lamina::serve {
namespace {

constexpr size_t most_texts = 2048; // of one request, as OpenAI has it
constexpr size_t most_choices = 128, most_messages = 8192;
constexpr int64_t longest = 1 << 20;   // tokens
constexpr int64_t most_likeliest = 20; // in the place of a token, as OpenAI has it
constexpr size_t most_biases = 1024;   // tokens; each step adds all of them

// {"50256": -100}: what is added to the scores of tokens, by their ids.
void read_biases(const JsonView &value, AnswerRequest &out) {
    constexpr double most = 100; // as OpenAI has it; -100 excludes a token
    if (const size_t found = value.members().size(); found > most_biases)
        value.fail("expected at most " + std::to_string(most_biases) + " tokens, found " + std::to_string(found));
    for (const JsonView each : value.members()) {
        int32_t token = 0;
        const std::string_view key = each.key();
        if (const auto [end, why] = std::from_chars(key.data(), key.data() + key.size(), token);
            why != std::errc() || end != key.data() + key.size() || token < 0)
            each.fail("expected a token's id");
        const double bias = each.number();
        if (!(bias >= -most && bias <= most))
            each.fail("expected a number from -100 to 100, found " + each.description());
        out.biases[token] = bias == -most ? -std::numeric_limits<double>::infinity() : bias;
    }
}

// llama.cpp's [{"id": 0, "scale": 0.5}]: adapters of the model; those that are not listed have no effect.
void read_lora(const JsonView &value, AnswerRequest &out) {
    constexpr size_t most = 64;
    constexpr double strongest = 100;
    auto &wanted = out.lora.emplace();
    for (const JsonView each : value.items()) {
        expect_fields(each, "AdapterScale");
        const JsonView scale = each.at("scale");
        if (!(std::abs(scale.number()) <= strongest))
            scale.fail("expected a number from -100 to 100, found " + scale.description());
        wanted.push_back({static_cast<size_t>(each.at("id").integer(0, most - 1)), scale.number()});
    }
    std::ranges::sort(wanted, {}, &AnswerRequest::Adapter::id);
    const auto twice = std::ranges::adjacent_find(wanted, {}, &AnswerRequest::Adapter::id);
    if (twice != wanted.end()) value.fail("expected each adapter once, found " + std::to_string(twice->id) + " twice");
}

void read_stop(const JsonView &value, AnswerRequest &out) {
    constexpr size_t most = 64, most_bytes = 1 << 14; // each token is compared with all of them
    out.stop = texts_of(value, most);
    size_t bytes = 0;
    for (const std::string &text : out.stop) {
        if (text.empty()) value.fail("expected texts that are not empty");
        bytes += text.size();
    }
    if (bytes > most_bytes)
        value.fail("expected at most " + std::to_string(most_bytes) + " bytes, found " + std::to_string(bytes));
}

// `shortest`: an answer's least "max_tokens".
void read_answer_fields(const JsonView &request, AnswerRequest &out, int64_t shortest = 1) {
    out.model = request.at("model").string();
    for (const SamplingOption &option : sampling_options) {
        const std::string name(option.name);
        if (!request.has(name)) continue;
        const JsonView value = request.at(name);
        const double number = value.number();
        SamplingOption allowed = option;
        allowed.least = least_in_request(option);
        if (!allowed.takes(number)) value.fail("expected " + allowed.expected() + ", found " + value.description());
        out.sampling.emplace(name, std::max(number, option.least));
    }
    if (request.has("logit_bias")) read_biases(request.at("logit_bias"), out);
    if (request.has("min_tokens")) out.min_length = request.at("min_tokens").integer(0, longest);
    if (request.has("ignore_eos")) out.ignore_end = request.at("ignore_eos").boolean();
    if (request.has("seed"))
        out.seed = static_cast<uint64_t>(
            request.at("seed").integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
    for (const char *field : {"max_tokens", "max_completion_tokens"})
        if (request.has(field)) out.max_length = request.at(field).integer(shortest, longest);
    if (out.max_length && out.min_length > *out.max_length)
        request.at("min_tokens")
            .fail("expected at most as many as \"max_tokens\", found " + std::to_string(out.min_length));
    if (request.has("n"))
        out.choices = static_cast<size_t>(request.at("n").integer(1, static_cast<int64_t>(most_choices)));
    if (request.has("lora")) read_lora(request.at("lora"), out);
    if (request.has("stop")) read_stop(request.at("stop"), out);
    out.grammar = grammar_of(request);
    if (request.has("stream")) out.stream = request.at("stream").boolean();
    if (!request.has("stream_options")) return;
    const JsonView how = request.at("stream_options");
    expect_fields(how, "StreamOptions");
    out.stream_usage = how.has("include_usage") && how.at("include_usage").boolean();
}

// The images of a message are added to those before.
ChatMessage message_of(const JsonView &from, std::vector<GivenImage> &images) {
    std::string role(from.at("role").string());
    expect_fields(from, role == "tool" ? "ToolMessage" : role == "assistant" ? "AssistantMessage" : "PlainMessage");
    for (const char *text : {"tool_call_id", "name", "reasoning_content"})
        if (from.has(text)) (void)from.at(text).string();
    if (role == "developer") role = "system"; // its later name; templates know the former
    const size_t before = images.size();
    if (role == "user" && !from.has("content"))
        from.fail("expected \"content\", a text or a list of parts, found none");
    std::string content = content_of(from, role == "user" ? &images : nullptr);
    return {std::move(role), std::move(content), images.size() - before};
}

std::vector<int32_t> ids_of(const JsonView &text) {
    std::vector<int32_t> out;
    for (const JsonView each : text.items()) out.push_back(static_cast<int32_t>(each.integer(0, INT32_MAX)));
    return out;
}

bool has_ids(const JsonView &texts) {
    return texts.is_list() && texts.items().size() > 0 && !texts.at(size_t{0}).is_string();
}

// The tokens of a text, or lists of those of several.
std::vector<std::vector<int32_t>> ids_of_texts(const JsonView &input) {
    if (!input.at(size_t{0}).is_list()) return {ids_of(input)};
    if (const size_t found = input.items().size(); found > most_texts)
        input.fail("expected at most " + std::to_string(most_texts) + " texts, found " + std::to_string(found));
    std::vector<std::vector<int32_t>> out;
    for (const JsonView each : input.items()) out.push_back(ids_of(each));
    return out;
}

void read_tried(const JsonView &value, AnswerRequest &out) {
    out.tried = static_cast<size_t>(value.integer(1, static_cast<int64_t>(most_choices)));
    if (out.tried < out.choices) value.fail("expected at least as many as \"n\", found " + value.description());
    if (out.tried > out.choices && out.stream)
        value.fail("cannot be used with \"stream\": which answers are the best is known at their end");
}

// Only what is the default anyway.
void expect_plain_text(const JsonView &request) {
    if (!request.has("modalities")) return;
    for (const JsonView each : request.at("modalities").items())
        if (each.string() != "text") each.fail("not supported: only \"text\" is");
}

} // namespace

std::vector<std::string> shared_fields() {
    std::vector<std::string> out{"seed", "stream"};
    for (const SamplingOption &option : sampling_options) out.emplace_back(option.name);
    return out;
}

void expect_effort(const JsonView &effort) {
    const std::vector<std::string> known{"none", "minimal", "low", "medium", "high", "xhigh", "max"};
    if (std::ranges::find(known, effort.string()) == known.end())
        effort.fail("expected one of " + joined(known) + ", found " + effort.description());
}

void expect_texts_alone(const AnswerRequest &request) {
    if (!request.images.empty())
        throw Error(ErrorCode::input, "request: /messages: images have no ids of tokens; expected texts alone");
}

AnswerRequest completion_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "CompletionRequest");
    AnswerRequest out;
    if (request.has("echo")) out.echo = request.at("echo").boolean();
    read_answer_fields(request, out, out.echo ? 0 : 1);
    out.echo_alone = out.max_length == 0;
    if (out.echo_alone) out.max_length = 1; // a model writes at least one token, which nobody is told of
    if (request.has("best_of")) read_tried(request.at("best_of"), out);
    if (request.has("logprobs")) out.likeliest = static_cast<size_t>(request.at("logprobs").integer(0, most_likeliest));
    for (const char *field : {"language", "source_language"})
        if (request.has(field)) out.languages[field] = request.at(field).string();
    const JsonView prompt = request.at("prompt");
    if (has_ids(prompt))
        out.ids = ids_of_texts(prompt);
    else
        out.prompts = texts_of(prompt, most_texts);
    const size_t prompts = out.ids.empty() ? out.prompts.size() : out.ids.size();
    if (prompts == 0) prompt.fail("expected at least one text");
    if (const size_t each = std::max(out.choices, out.tried); prompts * each > most_texts)
        prompt.fail("expected at most " + std::to_string(most_texts) + " answers, found " + std::to_string(prompts) +
                    " prompts of " + std::to_string(each) + " each");
    return out;
}

void read_conversation(const JsonView &request, AnswerRequest &out) {
    const JsonView messages = request.at("messages");
    if (const size_t found = messages.is_list() ? messages.items().size() : 0; found > most_messages)
        messages.fail("expected at most " + std::to_string(most_messages) + " messages, found " +
                      std::to_string(found));
    for (const JsonView message : messages.items()) out.messages.push_back(message_of(message, out.images));
    if (out.messages.empty()) request.at("messages").fail("expected at least one message");
    if (request.has("reasoning_effort")) {
        const JsonView effort = request.at("reasoning_effort");
        expect_effort(effort);
        if (effort.string() == "none")
            out.variables["enable_thinking"] = "false";
        else
            out.variables["reasoning_effort"] = effort.written();
    }
    if (request.has("chat_template_kwargs"))
        for (const JsonView each : request.at("chat_template_kwargs").members()) {
            if (each.key() == "messages" || each.key() == "tools")
                each.fail("expected as a field of the request itself");
            out.variables.insert_or_assign(std::string(each.key()), each.written());
        }
    out.variables["messages"] = messages_for_template(request.at("messages")).in_one_line();
    out.tools = tools_of(request);
    if (out.tools) out.variables["tools"] = out.tools->json;
}

AnswerRequest chat_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "ChatCompletionRequest");
    AnswerRequest out;
    read_answer_fields(request, out);
    expect_plain_text(request);
    if (request.has("logprobs") && request.at("logprobs").boolean()) out.likeliest = 0;
    if (request.has("truncation")) {
        const JsonView how = request.at("truncation");
        if (how.string() != "auto" && how.string() != "disabled")
            how.fail("expected \"auto\" or \"disabled\", found " + how.description());
        out.shortens = how.string() == "auto";
    }
    if (request.has("top_logprobs")) {
        const JsonView likeliest = request.at("top_logprobs");
        const auto count = static_cast<size_t>(likeliest.integer(0, most_likeliest));
        if (!out.likeliest && count > 0) likeliest.fail("expected it with \"logprobs\": true");
        if (out.likeliest) out.likeliest = count;
    }
    read_conversation(request, out);
    if (out.tools && out.grammar) request.at("tools").fail("cannot be used with a grammar for the answer");
    return out;
}

GenerateOptions options_of(const AnswerRequest &request, const GenerateOptions &suggested, uint64_t seed) {
    GenerateOptions out;
    for (const SamplingOption &option : sampling_options) {
        const auto given = request.sampling.find(option.name);
        option.set(out, given != request.sampling.end() ? given->second : option.of(suggested).value_or(1));
    }
    out.seed = request.seed.value_or(seed);
    if (out.temperature == 0 && request.sampling.count("temperature") == 0) {
        std::string idle = request.tried > 1 ? "best_of" : request.choices > 1 ? "n" : "";
        const GenerateOptions plain;
        for (const SamplingOption &option : sampling_options)
            if (const auto given = request.sampling.find(option.name);
                option.samples && given != request.sampling.end() && given->second != option.of(plain))
                idle = option.name;
        if (!idle.empty())
            throw Error(ErrorCode::input, "request: /" + idle +
                                              ": has no effect without a temperature, for which this model's makers "
                                              "suggest nothing; set it, too");
    }
    out.choices = request.languages;
    out.reuse = true; // conversations begin alike, and with all that was said before
    out.biases = request.biases;
    out.min_length = request.min_length;
    out.ignore_end = request.ignore_end;
    out.likeliest = request.likeliest;
    out.prompt_scores = request.echo && request.likeliest;
    if (request.tried > request.choices) out.length_penalty = 1; // scores are log probabilities of a token
    out.max_length = request.max_length.value_or(0);
    if (request.grammar) out.grammar = request.grammar();
    out.stop = request.stop;
    return out;
}

EmbeddingRequest embedding_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "EmbeddingRequest");
    EmbeddingRequest out;
    out.model = request.at("model").string();
    const JsonView input = request.at("input");
    if (has_ids(input))
        out.ids = ids_of_texts(input);
    else
        out.texts = texts_of(input, most_texts);
    if (out.texts.empty() && out.ids.empty()) input.fail("expected at least one text");
    out.cut = truncation_of(request);
    if (request.has("windows")) out.windows = request.at("windows").boolean();
    if (out.windows && out.cut.value_or(false))
        request.at("windows").fail("cannot be used with \"truncate\": nothing is cut then");
    if (out.windows && out.texts.empty())
        request.at("windows").fail("expected texts as \"input\", found token ids, whose special ones are not known");
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
