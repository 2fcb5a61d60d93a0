#include "message_result.hpp"

#include "answer_form.hpp"
#include "fields.hpp"
#include "refusal.hpp"

#include "base/json_reader.hpp"

#include <utility>

namespace lamina::serve {
namespace {

Json usage_of(const Usage &usage) { return {{"input_tokens", usage.prompt}, {"output_tokens", usage.answer}}; }

Json head_of(const AnswerHead &head, Json content) {
    return {{"id", head.id},
            {"type", "message"},
            {"role", "assistant"},
            {"content", std::move(content)},
            {"model", head.model}};
}

// "stop_reason" and "stop_sequence". Which of several texts an answer has ended before is not known.
void add_end(const AnswerEnd &end, Json &out) {
    const bool stopped = end.finish == Finish::stop && !end.stops.empty();
    out["stop_reason"] = end.finish == Finish::length ? "max_tokens"
                         : end.called                 ? "tool_use"
                         : stopped                    ? "stop_sequence"
                                                      : "end_turn";
    out["stop_sequence"] = stopped && end.stops.size() == 1 ? Json(end.stops.front()) : Json(nullptr);
}

std::string event(const char *type, const Json &data) {
    Json out{{"type", type}};
    for (const auto &[key, value] : *data.members()) out[key] = value;
    return std::string("event: ") + type + "\ndata: " + out.in_one_line() + "\n\n";
}

// An answer that ends too early leaves arguments open; the API has no place for such ones.
Json input_of(const std::string &arguments) {
    try {
        return copied(JsonText(arguments, "arguments").root());
    } catch (const Error &) {
        return Json::object();
    }
}

Json block_of(AnswerPart::Kind kind, const std::string &name, const std::string &id) {
    switch (kind) {
    case AnswerPart::Kind::thought:
        return {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
    case AnswerPart::Kind::text:
        return {{"type", "text"}, {"text", ""}};
    default:
        return {{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", Json::object()}};
    }
}

Json delta_of(const AnswerPart &part) {
    switch (part.kind) {
    case AnswerPart::Kind::thought:
        return {{"type", "thinking_delta"}, {"thinking", part.text}};
    case AnswerPart::Kind::text:
        return {{"type", "text_delta"}, {"text", part.text}};
    default:
        return {{"type", "input_json_delta"}, {"partial_json", part.text}};
    }
}

} // namespace

std::string message_json(const AnswerHead &head, const Choice &choice, const AnswerEnd &end, const Usage &usage) {
    Json blocks = Json::array();
    if (!choice.thought.empty())
        blocks.push_back({{"type", "thinking"}, {"thinking", choice.thought}, {"signature", ""}});
    if (!choice.text.empty() || choice.calls.empty()) blocks.push_back({{"type", "text"}, {"text", choice.text}});
    for (const CalledTool &call : choice.calls)
        blocks.push_back(
            {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", input_of(call.arguments)}});
    Json out = head_of(head, std::move(blocks));
    add_end(end, out);
    out["usage"] = usage_of(usage);
    return out.in_one_line();
}

std::string MessageEvents::begin(size_t prompt_tokens) {
    Json message = head_of(head_, Json::array());
    message["stop_reason"] = nullptr;
    message["stop_sequence"] = nullptr;
    message["usage"] = usage_of({prompt_tokens, 0});
    return event("message_start", {{"message", std::move(message)}});
}

std::string MessageEvents::open(AnswerPart::Kind kind, Json block) {
    std::string out = close();
    kind_ = kind;
    is_open_ = true;
    return out + event("content_block_start", {{"index", block_}, {"content_block", std::move(block)}});
}

std::string MessageEvents::close() {
    if (!std::exchange(is_open_, false)) return "";
    return event("content_block_stop", {{"index", block_++}});
}

std::string MessageEvents::of(const AnswerPart &part) {
    using Kind = AnswerPart::Kind;
    if (part.kind == Kind::call) return open(part.kind, block_of(part.kind, part.text, id_of_call()));
    std::string out;
    if (part.kind != Kind::arguments && (!is_open_ || kind_ != part.kind))
        out = open(part.kind, block_of(part.kind, "", ""));
    return out + event("content_block_delta", {{"index", block_}, {"delta", delta_of(part)}});
}

std::string MessageEvents::finish(const AnswerEnd &end, const Usage &usage) {
    std::string out;
    if (block_ == 0 && !is_open_) out = open(AnswerPart::Kind::text, block_of(AnswerPart::Kind::text, "", ""));
    out += close();
    Json delta = Json::object();
    add_end(end, delta);
    out += event("message_delta", {{"delta", std::move(delta)}, {"usage", usage_of(usage)}});
    return out + event("message_stop", Json::object());
}

AnswerForm message_form(const std::vector<std::string> &stops) {
    return {.id = "msg_",
            .events = [](const AnswerHead &head, size_t) { return std::make_unique<MessageEvents>(head); },
            .whole =
                [stops](const AnswerHead &head, const std::vector<Choice> &choices, const Usage &usage) {
                    const Choice &only = choices.front();
                    return message_json(head, only, {only.finish, !only.calls.empty(), stops}, usage);
                },
            .error_event =
                [](int status, const std::string &why) {
                    return "event: error\ndata: " + anthropic_error(status, why) + "\n\n";
                }};
}

} // namespace lamina::serve
