#include "response_result.hpp"

#include "answer_form.hpp"

#include <utility>

namespace lamina::serve {
namespace {

Json with(Json left, const Json &right) {
    for (const auto &[key, value] : *right.members()) left[key] = value;
    return left;
}

} // namespace

ResponseEvents::ResponseEvents(const AnswerHead &head, Json repeated) : head_(head), repeated_(std::move(repeated)) {}

std::string ResponseEvents::event(const std::string &type, const Json &data) {
    const Json out = with(Json{{"type", type}, {"sequence_number", events_++}}, data);
    return "event: " + type + "\ndata: " + out.in_one_line() + "\n\n";
}

Json ResponseEvents::response_with(const char *status) const {
    Json out{{"id", head_.id},   {"object", "response"}, {"created_at", head_.created},
             {"status", status}, {"model", head_.model}, {"output", output_},
             {"error", nullptr}};
    out["incomplete_details"] = nullptr;
    out["previous_response_id"] = nullptr;
    out["reasoning"] = Json{{"effort", nullptr}, {"summary", nullptr}};
    out["store"] = false;
    out["usage"] = nullptr;
    return with(std::move(out), repeated_);
}

std::string ResponseEvents::begin(size_t) {
    std::string out = event("response.created", {{"response", response_with("in_progress")}});
    return out + event("response.in_progress", {{"response", response_with("in_progress")}});
}

// Of a text or a thought.
Json ResponseEvents::content() const {
    if (kind_ == AnswerPart::Kind::thought) return {{"type", "reasoning_text"}, {"text", text_}};
    return {{"type", "output_text"}, {"text", text_}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
}

Json ResponseEvents::item(const char *status) const {
    const bool begun = !text_.empty();
    if (kind_ == AnswerPart::Kind::thought)
        return {{"id", id_},
                {"type", "reasoning"},
                {"status", status},
                {"summary", Json::array()},
                {"content", begun ? Json::array({content()}) : Json::array()}};
    if (kind_ == AnswerPart::Kind::text)
        return {{"id", id_},
                {"type", "message"},
                {"status", status},
                {"role", "assistant"},
                {"content", begun ? Json::array({content()}) : Json::array()}};
    return {{"id", id_},        {"type", "function_call"}, {"status", status},
            {"call_id", call_}, {"name", name_},           {"arguments", text_}};
}

Json ResponseEvents::place() const { return {{"item_id", id_}, {"output_index", items_}}; }

std::string ResponseEvents::open(const AnswerPart &part) {
    using Kind = AnswerPart::Kind;
    std::string out = close(true);
    is_open_ = true;
    kind_ = part.kind;
    id_ = (kind_ == Kind::thought ? "rs_" : kind_ == Kind::text ? "msg_" : "fc_") + random_id();
    if (kind_ == Kind::call) name_ = part.text, call_ = id_of_call();
    text_.clear();
    out += event("response.output_item.added", {{"output_index", items_}, {"item", item("in_progress")}});
    if (kind_ == Kind::call) return out;
    return out + event("response.content_part.added", with(place(), {{"content_index", 0}, {"part", content()}}));
}

std::string ResponseEvents::of(const AnswerPart &part) {
    using Kind = AnswerPart::Kind;
    if (part.kind == Kind::call) return open(part);
    std::string out;
    if (part.kind != Kind::arguments && (!is_open_ || kind_ != part.kind)) out = open(part);
    text_ += part.text;
    if (part.kind == Kind::arguments)
        return out + event("response.function_call_arguments.delta", with(place(), {{"delta", part.text}}));
    Json delta = place();
    delta["content_index"] = 0;
    delta["delta"] = part.text;
    if (part.kind == Kind::thought) return out + event("response.reasoning_text.delta", delta);
    delta["logprobs"] = Json::array();
    return out + event("response.output_text.delta", delta);
}

std::string ResponseEvents::close(bool whole) {
    using Kind = AnswerPart::Kind;
    if (!std::exchange(is_open_, false)) return "";
    std::string out;
    if (kind_ == Kind::call) {
        out = event("response.function_call_arguments.done", with(place(), {{"name", name_}, {"arguments", text_}}));
    } else {
        Json text = place();
        text["content_index"] = 0;
        text["text"] = text_;
        if (kind_ == Kind::text) text["logprobs"] = Json::array();
        out = event(kind_ == Kind::text ? "response.output_text.done" : "response.reasoning_text.done", text);
        out += event("response.content_part.done", with(place(), {{"content_index", 0}, {"part", content()}}));
    }
    Json done = item(whole ? "completed" : "incomplete");
    if (kind_ != Kind::call) done["content"] = Json::array({content()}); // also of an empty one
    out += event("response.output_item.done", {{"output_index", items_++}, {"item", done}});
    output_.push_back(std::move(done));
    return out;
}

std::string ResponseEvents::finish(const AnswerEnd &end, const Usage &usage) {
    const bool whole = end.finish != Finish::length;
    std::string out;
    if (items_ == 0 && !is_open_) out = open({AnswerPart::Kind::text, ""});
    out += close(whole);
    const char *status = whole ? "completed" : "incomplete";
    response_ = response_with(status);
    if (!whole) response_["incomplete_details"] = Json{{"reason", "max_output_tokens"}};
    response_["usage"] = Json{{"input_tokens", usage.prompt},
                              {"input_tokens_details", Json{{"cached_tokens", usage.reused}}},
                              {"output_tokens", usage.answer},
                              {"output_tokens_details", Json{{"reasoning_tokens", usage.thought}}},
                              {"total_tokens", usage.prompt + usage.answer}};
    return out + event(std::string("response.") + status, {{"response", response_}});
}

namespace {

// The whole response, from what its events would have told.
std::string response_json(const AnswerHead &head, const Json &repeated, const Choice &choice, const Usage &usage) {
    using Kind = AnswerPart::Kind;
    ResponseEvents events(head, repeated);
    if (!choice.thought.empty()) (void)events.of({Kind::thought, choice.thought});
    if (!choice.text.empty()) (void)events.of({Kind::text, choice.text});
    for (const CalledTool &call : choice.calls) {
        (void)events.of({Kind::call, call.name});
        (void)events.of({Kind::arguments, call.arguments});
    }
    (void)events.finish({choice.finish}, usage);
    return events.response();
}

} // namespace

AnswerForm response_form(const Json &repeated) {
    return {.id = "resp_",
            .events = [repeated](const AnswerHead &head,
                                 size_t) { return std::make_unique<ResponseEvents>(head, repeated); },
            .whole = [repeated](const AnswerHead &head, const std::vector<Choice> &choices,
                                const Usage &usage) { return response_json(head, repeated, choices.front(), usage); },
            .error_event =
                [](int, const std::string &why) {
                    Json data{{"type", "error"}, {"code", "server_error"}, {"message", why}, {"param", nullptr}};
                    return "event: error\ndata: " + data.in_one_line() + "\n\n";
                }};
}

} // namespace lamina::serve
