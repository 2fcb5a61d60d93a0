#include "token_request.hpp"

#include "fields.hpp"

#include "base/json_reader.hpp"

namespace lamina::serve {
namespace {

constexpr size_t most_tokens = 1 << 20; // to be turned into a text

std::string model_of(const JsonView &request) {
    return request.has("model") ? std::string(request.at("model").string()) : "";
}

void read_template_fields(const JsonView &request, AnswerRequest &out) {
    read_conversation(request, out);
    if (request.has("add_generation_prompt"))
        out.variables["add_generation_prompt"] = request.at("add_generation_prompt").boolean() ? "true" : "false";
}

// The one of these fields that the request has.
std::string subject_of(const JsonView &request) {
    std::string out;
    for (const char *field : {"prompt", "content", "messages"}) {
        if (!request.has(field)) continue;
        if (!out.empty()) request.at(field).fail("expected it alone, found it beside \"" + out + "\"");
        out = field;
    }
    if (out.empty()) request.fail("expected \"prompt\" or \"content\", a text, or \"messages\"");
    return out;
}

bool flag(const JsonView &request, const char *field, bool otherwise) {
    return request.has(field) ? request.at(field).boolean() : otherwise;
}

} // namespace

AnswerRequest template_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "TemplateRequest");
    AnswerRequest out;
    out.model = model_of(request);
    read_template_fields(request, out);
    return out;
}

TokenizeRequest tokenize_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "TokenizeRequest");
    TokenizeRequest out;
    out.field = subject_of(request);
    out.of.model = model_of(request);
    if (out.field == "messages")
        read_template_fields(request, out.of);
    else
        out.of.prompts = {std::string(request.at(out.field).string())};
    out.special = flag(request, "add_special", flag(request, "add_special_tokens", out.field == "prompt"));
    out.entries = flag(request, "return_token_strs", false);
    out.pieces = flag(request, "with_pieces", false);
    return out;
}

DetokenizeRequest detokenize_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "DetokenizeRequest");
    DetokenizeRequest out;
    out.model = model_of(request);
    const JsonView tokens = request.at("tokens");
    if (const size_t found = tokens.items().size(); found > most_tokens)
        tokens.fail("expected at most " + std::to_string(most_tokens) + " tokens, found " + std::to_string(found));
    for (const JsonView each : tokens.items()) out.tokens.push_back(static_cast<int32_t>(each.integer(0, INT32_MAX)));
    return out;
}

} // namespace lamina::serve
