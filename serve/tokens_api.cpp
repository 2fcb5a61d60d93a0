// What answers /tokenize, /detokenize and /apply-template: what a model makes of texts before it computes.
#include "refusal.hpp"
#include "route.hpp"
#include "token_request.hpp"

#include "base/json.hpp"
#include "base/utf8.hpp"

#include <lamina/texts.hpp>

#include <span>

namespace lamina::serve {
namespace {

// A text; or its bytes, where they are a part of a character.
std::string piece_as_json(const std::string &bytes) {
    if (first_invalid_utf8(bytes) == bytes.size()) return json_string(bytes);
    std::string out;
    for (const char each : bytes) out += (out.empty() ? "[" : ",") + std::to_string(static_cast<unsigned char>(each));
    return out + "]";
}

// Written at once, because values of Json would take many times the memory.
std::string tokens_as_json(std::span<const int32_t> ids, int64_t limit, const TokenizeRequest &request,
                           const std::vector<TokenText> *texts) {
    std::string tokens, entries;
    for (const int32_t id : ids) {
        const std::string number = std::to_string(id);
        if (!tokens.empty()) tokens += ',';
        if (request.pieces)
            tokens +=
                R"({"id":)" + number + R"(,"piece":)" + piece_as_json(texts->at(static_cast<size_t>(id)).bytes) + '}';
        else
            tokens += number;
        if (!request.entries) continue;
        if (!entries.empty()) entries += ',';
        entries += json_string(texts->at(static_cast<size_t>(id)).entry);
    }
    return R"({"tokens":[)" + tokens + R"(],"count":)" + std::to_string(ids.size()) + R"(,"max_model_len":)" +
           std::to_string(limit) + (request.entries ? R"(,"token_strs":[)" + entries + "]}" : "}");
}

} // namespace

Engine &Api::engine_called_or_only(const Call &call, const std::string &name) {
    if (!name.empty()) return engine_called(call, name);
    const std::vector<Models::Listed> all = models_.list();
    if (all.size() == 1) return engine_called(call, all.front().model->name);
    std::string names;
    for (const Models::Listed &each : all) names += (names.empty() ? "" : ", ") + each.model->name;
    throw Refusal(400, "there are several models here: expected \"model\", one of " + names, "model");
}

Response Api::apply_template(const Call &call) {
    const AnswerRequest request = parsed(call.request, template_request);
    const Engine &engine = engine_called_or_only(call, request.model);
    return {.body = with_texts(call.request, [&] {
                const std::string prompt = chat_prompt(engine.model(), request.messages, variables_of(engine, request));
                return Json{{"prompt", prompt}}.in_one_line();
            })};
}

Response Api::tokenize_text(const Call &call) {
    const TokenizeRequest request = parsed(call.request, tokenize_request);
    const Engine &engine = engine_called_or_only(call, request.of.model);
    expect_texts_alone(request.of);
    const std::string text = request.field != "messages" ? request.of.prompts.front() : with_texts(call.request, [&] {
        return chat_prompt(engine.model(), request.of.messages, variables_of(engine, request.of));
    });
    // Each byte may be a token, which takes that while it is looked for, and while it is written.
    const size_t of_byte = request.pieces || request.entries ? 192 : 128;
    const auto memory = take(json_memory_, of_byte * text.size(), call.request);
    std::vector<int32_t> ids;
    try {
        ids = token_ids(engine.model(), text, request.special);
    } catch (const Error &why) {
        if (why.code() != ErrorCode::input) throw;
        throw Error(ErrorCode::input, "request: /" + request.field + ": " + why.what());
    }
    const std::vector<TokenText> *texts = request.entries || request.pieces ? &engine.tokens(false) : nullptr;
    return {.body = tokens_as_json(ids, engine.longest(), request, texts)};
}

Response Api::detokenize_ids(const Call &call) {
    const DetokenizeRequest request = parsed(call.request, detokenize_request);
    const Engine &engine = engine_called_or_only(call, request.model);
    const std::vector<TokenText> &known = engine.tokens(true);
    constexpr size_t most = size_t{16} << 20; // bytes of a text
    size_t bytes = 0;
    for (size_t i = 0; i < request.tokens.size(); ++i) {
        const auto id = static_cast<size_t>(request.tokens[i]);
        if (id >= known.size())
            throw Refusal(400,
                          "request: /tokens/" + std::to_string(i) + ": expected an id below " +
                              std::to_string(known.size()) + ", as many as " + engine.name() + " has, found " +
                              std::to_string(id),
                          "tokens");
        bytes += known[id].bytes.size();
        if (bytes > most)
            throw Refusal(400,
                          "request: /tokens: expected a text of at most " + std::to_string(most) +
                              " bytes, which the first " + std::to_string(i + 1) + " tokens exceed: ask in parts",
                          "tokens");
    }
    constexpr size_t times = 16; // the text, and twice as a value and as JSON, where a byte may take six
    const auto memory = take(json_memory_, times * bytes, call.request);
    const std::string text = detokenize(engine.model(), request.tokens, false);
    return {.body = Json{{"prompt", text}, {"content", text}}.in_one_line()};
}

} // namespace lamina::serve
