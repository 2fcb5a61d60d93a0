// What answers /v1/completions, /v1/chat/completions, /v1/responses and /v1/messages: whole, or as events while the
// model writes.
#include "answer_form.hpp"
#include "message_request.hpp"
#include "openai_request.hpp"
#include "openai_scores.hpp"
#include "response_request.hpp"
#include "route.hpp"
#include "tokens.hpp"
#include "writing.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <lamina/texts.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <utility>

namespace lamina::serve {
namespace {

uint64_t random_number() {
    static thread_local std::random_device source;
    return uint64_t{source()} << 32u | source();
}

// Bytes that each answer has of its own, here and in the batch.
size_t memory_of(const GenerateOptions &options) {
    constexpr size_t of_answer = 1 << 10, of_bias = 64;
    size_t out = of_answer + options.biases.size() * of_bias;
    for (const std::string &text : options.stop) out += sizeof(text) + text.size();
    return 2 * out;
}

} // namespace

std::string random_id() {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(random_number()));
    return text.data();
}

std::string id_of_call() { return random_id().substr(0, 9); }

struct Api::Prompts {
    std::vector<std::vector<int32_t>> ids; // of the tokens of each
    bool thinks = false;                   // it has opened a thought, which the answer begins within
    size_t left_out = 0;                   // messages, for which there was no room
    std::shared_ptr<const void> images{};  // which the session knows as long as this is there
    std::shared_ptr<void> memory{};        // of these
};

std::map<std::string, std::string> Api::variables_of(const Engine &engine, const AnswerRequest &chat) {
    std::map<std::string, std::string> out = chat.variables;
    if (engine.tool_format() && engine.tool_format()->short_ids) out["messages"] = with_short_ids(out.at("messages"));
    return out;
}

bool Api::shortens(const AnswerRequest &chat) const { return chat.shortens.value_or(options_.shortens); }

namespace {

void expect_room(const Engine &engine, size_t tokens, const std::string &field) {
    const BatchRoom &room = engine.room();
    if (const auto longest = static_cast<size_t>(room.length); tokens > longest)
        throw Refusal(400,
                      "request: /" + field + ": " + std::to_string(tokens) + " tokens; the maximum context length is " +
                          std::to_string(longest) + " here (" +
                          (room.whole ? "the server's --context" : "there is no memory for more") + ")",
                      field, "context_length_exceeded");
}

} // namespace

ShortenedChat Api::chat_with_images(const Engine &engine, const AnswerRequest &chat, const Request &request) {
    const std::string &place = chat.images.front().place;
    if (!engine.sees()) throw Error(ErrorCode::input, place + ": " + chat.model + " takes no images");
    const size_t begin = place.find('/') + 1;
    const std::string field = place.substr(begin, place.find('/', begin) - begin); // "messages", "input"
    const std::vector<Image> images = read_images(chat.images);
    Session session = engine.session();
    const auto longest = shortens(chat) ? static_cast<size_t>(engine.room().length) : SIZE_MAX;
    try {
        return shortened_chat_prompt(engine.model(), session, chat.messages, images, longest,
                                     static_cast<size_t>(chat.max_length.value_or(0)), variables_of(engine, chat),
                                     [&](size_t tokens) {
                                         expect_room(engine, tokens, field);
                                         expect_time(request);
                                     });
    } catch (const Error &why) {
        if (why.code() != ErrorCode::input) throw;
        throw Refusal(400, "request: /" + field + ": " + why.what(), field);
    }
}

namespace {

// Images may take as much of a body as the server reads.
void expect_fair_text(const Request &request, const AnswerRequest &chat) {
    size_t text = request.body.size();
    for (const GivenImage &each : chat.images) text -= std::min(text, each.bytes.size() / 3 * 4);
    if (text > most_text)
        throw Refusal(413, "the body is too large: expected at most " + std::to_string(most_text) +
                               " bytes beside images, found " + std::to_string(text));
}

} // namespace

Api::Prompts Api::prompts_of(const Call &call, const AnswerRequest &chat) {
    expect_fair_text(call.request, chat);
    const Engine &engine = engine_that_writes(call, chat.model); // which may have to be loaded first
    if (chat.images.empty())
        return with_texts(call.request, [&] { return prompts_in(engine, chat, text_of(engine, chat)); });
    const auto turn = take(images_, 1, call.request); // as pixels they take much memory
    ShortenedChat found = chat_with_images(engine, chat, call.request);
    auto memory = take(image_memory_, found.image_bytes, call.request);
    Prompts out = prompts_in(engine, chat, std::move(found));
    out.memory = std::move(memory);
    return out;
}

ShortenedChat Api::text_of(const Engine &engine, const AnswerRequest &chat) const {
    const Model &model = engine.model();
    const auto variables = variables_of(engine, chat);
    if (!shortens(chat)) return {.prompt = chat_prompt(model, chat.messages, variables), .ids = {}};
    return shortened_chat_prompt(model, chat.messages, static_cast<size_t>(engine.room().length),
                                 static_cast<size_t>(chat.max_length.value_or(0)), variables);
}

Api::Prompts Api::prompts_in(const Engine &engine, const AnswerRequest &chat, ShortenedChat found) {
    const Model &model = engine.model();
    bool thinks = opens_thought(found.prompt);
    if (thinks && chat.grammar) { // which is for what follows the thought
        const std::string end = "\n" + std::string(think_end) + "\n\n";
        found.prompt += end;
        if (chat.images.empty()) {
            found.ids.clear();
        } else {
            const std::vector<int32_t> more = token_ids(model, end, false);
            found.ids.insert(found.ids.end(), more.begin(), more.end());
        }
        thinks = false;
    }
    if (found.ids.empty()) found.ids = ids_in(model, {found.prompt}, "messages", false).front();
    return {{std::move(found.ids)}, thinks, found.left_out, std::move(found.images)};
}

Engine &Api::engine_that_writes(const Call &call, const std::string &model) {
    Engine &out = engine_called(call, model);
    if (!out.writes())
        throw Refusal(400, model + " does not write texts; /v1/models says what each model does", "model");
    return out;
}

Response Api::completions(const Call &call) {
    const AnswerRequest request = parsed(call.request, completion_request);
    Engine &engine = engine_that_writes(call, request.model);
    if (request.echo && !engine.contents().generation->encode.empty())
        throw Refusal(400, "request: /echo: " + request.model + " translates: its answers do not continue the prompt",
                      "echo");
    if (request.ids.empty())
        return write(
            call, request,
            {with_texts(call.request, [&] { return ids_in(engine.model(), request.prompts, "prompt", true); })},
            openai_form(false));
    (void)tokens_in(request.ids, "prompt", false, engine.tokens(false).size(), static_cast<size_t>(engine.longest()));
    return write(call, request, {request.ids}, openai_form(false));
}

Response Api::chat_completions(const Call &call) {
    const AnswerRequest request = parsed(call.request, chat_request);
    if (!request.images.empty()) mix_adapters(call, request); // which the session knows that writes the answer
    return write(call, request, prompts_of(call, request), openai_form(true));
}

Response Api::responses(const Call &call) {
    ResponseRequest request = parsed(call.request, response_request);
    request.repeated["truncation"] = shortens(request.answer) ? "auto" : "disabled";
    return write(call, request.answer, prompts_of(call, request.answer), response_form(request.repeated));
}

Response Api::messages(const Call &call) {
    const AnswerRequest request = parsed(call.request, message_request);
    return write(call, request, prompts_of(call, request), message_form(request.stop));
}

Response Api::count_tokens(const Call &call) {
    const Prompts prompts = prompts_of(call, parsed(call.request, count_request));
    return {.body = Json{{"input_tokens", prompts.ids.front().size()}}.in_one_line()};
}

namespace {

void expect_tokens(const Engine &engine, const std::map<int32_t, double> &biases) {
    if (biases.empty()) return;
    const auto tokens = static_cast<int32_t>(engine.tokens(true).size());
    if (const int32_t last = biases.rbegin()->first; last >= tokens)
        throw Refusal(400,
                      "request: /logit_bias/" + std::to_string(last) + ": expected a token's id, from 0 to " +
                          std::to_string(tokens - 1) + " for this model",
                      "logit_bias");
}

void expect_languages(const Engine &engine, const Choices &languages) {
    const auto &known = engine.contents().generation->choices;
    for (const auto &[field, name] : languages) {
        const auto choice = known.find(field);
        if (choice == known.end())
            throw Refusal(400, "request: /" + field + ": " + engine.name() + " has no such setting; leave it out",
                          field);
        if (std::ranges::find(choice->second, name) == choice->second.end())
            throw Refusal(400,
                          "request: /" + field + ": " + in_quotes(name) + " is not supported by the model" +
                              did_you_mean(name, choice->second) + "; supported: " + joined(choice->second),
                          field);
    }
}

// Of the texts below, before there is memory for them.
size_t bytes_of_echoes(const Engine &engine, const AnswerRequest &request,
                       const std::vector<std::vector<int32_t>> &prompts) {
    size_t out = 0;
    if (!request.echo) return out;
    const std::vector<TokenText> &tokens = engine.tokens(false);
    for (size_t i = 0; i < prompts.size(); ++i) {
        if (request.ids.empty()) out += request.prompts[i].size();
        if (!request.ids.empty())
            for (const int32_t id : prompts[i]) out += tokens.at(static_cast<size_t>(id)).bytes.size();
    }
    return out;
}

std::vector<Echo> echoes_of(const Engine &engine, const AnswerRequest &request,
                            const std::vector<std::vector<int32_t>> &prompts) {
    std::vector<Echo> out;
    if (!request.echo) return out;
    const std::vector<TokenText> &tokens = engine.tokens(false);
    for (size_t i = 0; i < prompts.size(); ++i) {
        const std::vector<int32_t> &ids = prompts[i];
        Echo echo{.text = request.ids.empty() ? request.prompts[i] : detokenize(engine.model(), ids, false),
                  .tokens = ids.size(),
                  .scored = request.likeliest.has_value(),
                  .alone = request.echo_alone};
        if (!ids.empty())
            echo.first = {ids.front(), tokens.at(static_cast<size_t>(ids.front())).bytes,
                          std::numeric_limits<double>::quiet_NaN()};
        out.push_back(std::move(echo));
    }
    return out;
}

} // namespace

Response Api::write(const Call &call, const AnswerRequest &request, const Prompts &given, const AnswerForm &form) {
    const std::vector<std::vector<int32_t>> &prompts = given.ids;
    Engine &engine = engine_that_writes(call, request.model);
    auto reading = request.grammar || request.tools ? take(grammars_, 1, call.request) : nullptr;
    GenerateOptions options = options_of(request, suggested_options(engine.model()), random_number());
    options.special_tokens = !form.chat;
    options.guess_ahead = options_.guess_ahead;
    if (request.tools && !engine.tool_format())
        throw Refusal(400,
                      "request: /tools: the chat template of " + request.model +
                          " takes none, or does not write their arguments as JSON",
                      "tools");
    if (request.tools) {
        options.grammar = grammar_of(*request.tools, *engine.tool_format(), given.thinks);
        options.skip_special_tokens = false; // they may be around calls
    }
    for (const std::vector<int32_t> &prompt : prompts)
        expect_room(engine, prompt.size(), form.chat ? "messages" : "prompt");
    const auto writing = std::make_shared<Writing>();
    if (request.tools) writing->tools = engine.tool_format();
    writing->thinks = given.thinks;
    writing->images = given.images;
    writing->form = form;
    writing->head = {form.chat, form.id + random_id(), request.model, std::time(nullptr)};
    if (given.left_out > 0) writing->headers["Lamina-Messages-Left-Out"] = std::to_string(given.left_out);
    writing->usage = request.stream_usage;
    writing->told = request.choices;
    writing->choices = std::max(request.choices, request.tried);
    for (const std::vector<int32_t> &prompt : prompts) writing->prompt_tokens += prompt.size();
    const size_t answers = prompts.size() * writing->choices;
    constexpr size_t of_token = 96; // of a prompt, with what the batch makes of it
    size_t own = answers * memory_of(options) + writing->choices * writing->prompt_tokens * of_token;
    own += 2 * writing->choices * bytes_of_echoes(engine, request, prompts);
    if (own > most_answer_memory)
        throw Refusal(400,
                      "request: " + std::to_string(answers) + " answers to prompts of " +
                          std::to_string(writing->prompt_tokens) +
                          " tokens together would take too much memory; ask for fewer at once",
                      "n");
    expect_tokens(engine, request.biases);
    expect_languages(engine, request.languages);
    size_t memory = 0;
    if (options.likeliest) {
        const auto longest = static_cast<size_t>(engine.room().length);
        const size_t tokens =
            request.max_length ? std::min(static_cast<size_t>(*request.max_length), longest) : longest;
        const size_t of_prompts = options.prompt_scores ? writing->choices * writing->prompt_tokens : 0;
        const size_t scores = (answers * tokens + of_prompts) * memory_of_scores(*options.likeliest);
        if (scores > most_answer_memory)
            throw Refusal(400,
                          "request: /logprobs: " + std::to_string(answers) + " answers of up to " +
                              std::to_string(tokens) +
                              " tokens would take too much memory; ask for fewer answers, less max_tokens or fewer of "
                              "the likeliest tokens",
                          "logprobs");
        memory += scores;
    }
    auto grammar = take(grammar_memory_, options.grammar ? options.grammar->bytes() : 0, call.request);
    reading.reset();                                         // others may read theirs while a mix is made
    if (request.images.empty()) mix_adapters(call, request); // a request that is refused makes no mix
    Engine &writer = *call.use->engine;
    for (const std::vector<int32_t> &prompt : prompts)
        expect_room(writer, prompt.size(), form.chat ? "messages" : "prompt");
    writing->engine = &writer;
    using Memory = std::array<std::shared_ptr<void>, 4>;
    auto scores = take(answer_memory_, memory, call.request);
    writing->memory = std::make_shared<Memory>(
        Memory{given.memory, std::move(grammar), std::move(scores), take(request_memory_, own, call.request)});
    writing->echoes = echoes_of(engine, request, prompts);
    for (const std::vector<int32_t> &prompt : prompts)
        for (size_t i = 0; i < writing->choices; ++i, ++options.first) { // each draws random numbers of its own
            const auto &answer = writing->answers.emplace_back(call.work<Answer>());
            answer->memory = writing->memory;
            answer->prompt = prompt;
            answer->options = options;
            writer.submit(answer);
        }
    return request.stream ? stream(call, writing) : whole(call, *writing);
}

Response Api::whole(const Call &call, Writing &writing) {
    std::vector<Choice> choices;
    for (const auto &each : writing.answers) await(*each, call.request);
    for (const Answer *each : writing.best())
        choices.push_back(choice_of(writing.parts(), *each, writing.echo(choices.size())));
    count(call, writing.used());
    call.use->first_token = writing.first_token();
    return {.body = writing.form.whole(writing.head, choices, writing.used()), .headers = writing.headers};
}

// What fails before the first token is an error of HTTP, what fails later an event.
Response Api::stream(const Call &call, const std::shared_ptr<Writing> &writing) {
    for (Work &first = *writing->answers.front(); !first.wait(soon(first));) expect_client(first, call.request.left);
    for (const auto &each : writing->answers)
        if (each->ended()) each->expect_success();
    Response out{.type = "text/event-stream", .headers = writing->headers};
    out.headers["Cache-Control"] = "no-cache";
    out.stream = [this, writing, left = call.request.left, use = call.use](const Send &send) {
        try {
            send_events(*writing, left, send, *use);
        } catch (const std::exception &why) {
            (void)send(writing->form.error_event(status_of(why), told(why)));
        }
    };
    return out;
}

void Api::send_events(Writing &writing, const std::function<bool()> &left, const Send &send, Use &use) {
    const std::vector<std::shared_ptr<Answer>> &answers = writing.answers;
    std::vector<Telling> events;
    for (size_t i = 0; i < answers.size(); ++i)
        events.emplace_back(writing.form.events(writing.head, i), writing.parts(), writing.echo(i));
    for (Telling &each : events)
        if (const std::string event = each.begin(writing.prompt_tokens); !event.empty()) (void)send(event);
    std::vector<bool> over(answers.size());
    for (size_t open = answers.size(); open > 0;) {
        for (size_t i = 0; i < answers.size(); ++i) {
            if (over[i]) continue;
            Answer &answer = *answers[i];
            (void)answer.wait(open == 1 ? soon(answer) : Work::Clock::now());
            if (!answer.ended()) expect_client(answer, left);
            over[i] = answer.ended(); // before the pieces are taken, so that none is left behind
            if (const std::string event = events[i].of(answer.take_news(), over[i]); !event.empty() && !send(event))
                return;
            if (!over[i]) continue;
            answer.expect_success();
            if (!send(events[i].finish(answer, writing.used()))) return;
            --open;
        }
        if (open > 1) std::this_thread::sleep_for(std::chrono::milliseconds(5)); // no single one can be waited for
    }
    use.tokens = writing.used();
    use.first_token = writing.first_token();
    metrics_.tokens(use.engine->name(), use.tokens);
    if (writing.usage) (void)send(usage_event(writing.head, writing.used()));
    if (!writing.form.last_event.empty()) (void)send(writing.form.last_event);
}

} // namespace lamina::serve
