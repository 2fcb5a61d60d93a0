#include "message_request.hpp"

#include "fields.hpp"
#include "images.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lamina::serve {
namespace {

// A text, or blocks that are texts.
std::string text_of(const JsonView &content) {
    if (content.is_string()) return std::string(content.string());
    std::string out;
    for (const JsonView block : content.items()) {
        if (block.at("type").string() != "text")
            block.at("type").fail("only blocks of type \"text\" are supported here, found " +
                                  block.at("type").description());
        if (!out.empty()) out += "\n";
        out += block.at("text").string();
    }
    return out;
}

GivenImage image_of_block(const JsonView &block) {
    const JsonView source = block.at("source"), type = source.at("type");
    if (type.string() != "base64")
        type.fail("expected \"base64\", because the server fetches nothing; found " + type.description());
    return image_of_base64(source.at("data"));
}

// A chat has results of tools as messages of their own, before what the user says to them.
void add_of_user(const JsonView &message, Json &out, std::vector<GivenImage> &images) {
    const JsonView content = message.at("content");
    if (content.is_string()) return out.push_back({{"role", "user"}, {"content", std::string(content.string())}});
    Json parts = Json::array();
    std::string text; // of the blocks since the last image
    bool says = false;
    const auto end_text = [&] {
        if (says) parts.push_back({{"type", "text"}, {"text", std::exchange(text, "")}});
        says = false;
    };
    for (const JsonView block : content.items()) {
        const std::string_view type = block.at("type").string();
        if (type == "tool_result") {
            Json result{{"role", "tool"}, {"tool_call_id", std::string(block.at("tool_use_id").string())}};
            result["content"] = block.has("content") ? text_of(block.at("content")) : "";
            out.push_back(std::move(result));
        } else if (type == "text") {
            text += (says ? "\n" : "") + std::string(block.at("text").string());
            says = true;
        } else if (type == "image") {
            end_text();
            images.push_back(image_of_block(block));
            parts.push_back(part_of_image());
        } else {
            block.at("type").fail("only blocks of type \"text\", \"image\" and \"tool_result\" are supported, found " +
                                  block.at("type").description());
        }
    }
    end_text();
    if (!parts.empty()) out.push_back({{"role", "user"}, {"content", std::move(parts)}});
}

void add_of_assistant(const JsonView &message, Json &out) {
    const JsonView content = message.at("content");
    if (content.is_string()) return out.push_back({{"role", "assistant"}, {"content", std::string(content.string())}});
    std::string text, thought;
    Json calls = Json::array();
    for (const JsonView block : content.items()) {
        const std::string_view type = block.at("type").string();
        if (type == "text") {
            text += block.at("text").string();
        } else if (type == "thinking") {
            thought += block.at("thinking").string();
        } else if (type == "tool_use") {
            Json function{{"name", std::string(block.at("name").string())}, {"arguments", block.at("input").written()}};
            calls.push_back({{"id", std::string(block.at("id").string())},
                             {"type", "function"},
                             {"function", std::move(function)}});
        } else if (type != "redacted_thinking") {
            block.at("type").fail("expected \"text\", \"thinking\" or \"tool_use\", found " +
                                  block.at("type").description());
        }
    }
    Json one{{"role", "assistant"}, {"content", std::move(text)}};
    if (!thought.empty()) one["reasoning_content"] = std::move(thought);
    if (!calls.empty()) one["tool_calls"] = std::move(calls);
    out.push_back(std::move(one));
}

Json messages_of(const JsonView &request, std::vector<GivenImage> &images) {
    Json out = Json::array();
    if (request.has("system")) out.push_back({{"role", "system"}, {"content", text_of(request.at("system"))}});
    bool user = false; // has said the last
    for (const JsonView message : request.at("messages").items()) {
        expect_fields(message, "AnthropicMessage");
        const JsonView role = message.at("role");
        user = role.string() == "user";
        if (!user && role.string() != "assistant")
            role.fail("expected \"user\" or \"assistant\", found " + role.description());
        user ? add_of_user(message, out, images) : add_of_assistant(message, out);
    }
    if (!user) request.at("messages").fail("expected the last message to be the user's: answers are not continued");
    return out;
}

Json tools_of_chat(const JsonView &tools) {
    Json out = Json::array();
    for (const JsonView tool : tools.items()) {
        if (tool.has("type") && tool.at("type").string() != "custom")
            tool.at("type").fail("only tools of type \"custom\" are supported, found " + tool.at("type").description());
        Json function{{"name", copied(tool.at("name"))}};
        for (const char *key : {"description", "strict"})
            if (tool.has(key)) function[key] = copied(tool.at(key));
        const JsonView schema = tool.at("input_schema");
        if (!schema.is_object() && !schema.is_boolean())
            schema.fail("expected a JSON Schema, found " + schema.description());
        function["parameters"] = copied(schema);
        out.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    return out;
}

Json choice_of_chat(const JsonView &choice) {
    const std::string type(choice.at("type").string());
    if (type == "tool") return {{"type", "function"}, {"function", Json{{"name", copied(choice.at("name"))}}}};
    if (type != "auto" && type != "any" && type != "none")
        choice.at("type").fail("expected \"auto\", \"any\", \"tool\" or \"none\", found " +
                               choice.at("type").description());
    return type == "any" ? "required" : type;
}

// What a template that lets models think or not is told.
Json variables_of(const JsonView &thinking) {
    const JsonView type = thinking.at("type");
    if (type.string() == "adaptive") return Json::object(); // as the template has it
    if (type.string() != "enabled" && type.string() != "disabled")
        type.fail("expected \"enabled\", \"disabled\" or \"adaptive\", found " + type.description());
    return {{"enable_thinking", type.string() == "enabled"}};
}

AnswerRequest request_of(std::string_view body, bool counts) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    const std::vector<std::string> shared = shared_fields();
    expect_fields(request, counts ? "CountTokensRequest" : "MessageRequest");
    Json chat{{"model", copied(request.at("model"))}};
    if (!counts) chat["max_tokens"] = request.at("max_tokens").integer(1, INT32_MAX);
    for (const std::string &key : shared)
        if (request.has(key)) chat[key] = copied(request.at(key));
    if (request.has("stop_sequences")) chat["stop"] = copied(request.at("stop_sequences"));
    std::vector<GivenImage> images;
    chat["messages"] = messages_of(request, images);
    if (request.has("tools")) chat["tools"] = tools_of_chat(request.at("tools"));
    if (request.has("tool_choice")) {
        const JsonView choice = request.at("tool_choice");
        chat["tool_choice"] = choice_of_chat(choice);
        if (choice.has("disable_parallel_tool_use"))
            chat["parallel_tool_calls"] = !choice.at("disable_parallel_tool_use").boolean();
    }
    if (request.has("thinking")) chat["chat_template_kwargs"] = variables_of(request.at("thinking"));
    AnswerRequest out = chat_request(chat.in_one_line());
    out.images = std::move(images);
    return out;
}

} // namespace

AnswerRequest message_request(std::string_view body) { return request_of(body, false); }
AnswerRequest count_request(std::string_view body) { return request_of(body, true); }

} // namespace lamina::serve
