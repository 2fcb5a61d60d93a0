#include "response_request.hpp"

#include "fields.hpp"
#include "images.hpp"

#include "base/json_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lamina::serve {
namespace {

// A text, or parts that are texts: of what is put in, or was put out before.
std::string parts_of(const JsonView &content) {
    if (content.is_string()) return std::string(content.string());
    std::string out;
    for (const JsonView part : content.items()) {
        const std::string_view type = part.at("type").string();
        if (type != "input_text" && type != "output_text" && type != "text")
            part.at("type").fail("only parts of type \"input_text\" and \"output_text\" are supported, found " +
                                 part.at("type").description());
        out += part.at("text").string();
    }
    return out;
}

// The same of a user, who may show images.
Json parts_of_user(const JsonView &content, std::vector<GivenImage> &images) {
    if (content.is_string()) return std::string(content.string());
    Json out = Json::array();
    for (const JsonView part : content.items()) {
        const std::string_view type = part.at("type").string();
        if (type == "input_image") {
            images.push_back(image_of_url(part.at("image_url")));
            out.push_back(part_of_image());
        } else if (type == "input_text" || type == "output_text" || type == "text") {
            out.push_back({{"type", "text"}, {"text", std::string(part.at("text").string())}});
        } else {
            part.at("type").fail("only parts of type \"input_text\" and \"input_image\" are supported, found " +
                                 part.at("type").description());
        }
    }
    return out;
}

// Items that a model has put out one after the other are one message of a chat: a thought, a text, calls.
class Conversation {
  public:
    explicit Conversation(std::vector<GivenImage> &images) : images_(images) {}

    void add(const JsonView &item) {
        const std::string type = item.has("type") ? std::string(item.at("type").string()) : "message";
        if (type == "message") {
            const std::string role(item.at("role").string());
            if (role == "user") return say(role, parts_of_user(item.at("content"), images_));
            const std::string text = parts_of(item.at("content"));
            if (role != "assistant") return say(role, text);
            Json &content = answer("content")["content"];
            content = text;
        } else if (type == "function_call") {
            Json function{{"name", copied(item.at("name"))}, {"arguments", copied(item.at("arguments"))}};
            Json &calls = answer("")["tool_calls"];
            if (calls.empty()) calls = Json::array();
            calls.push_back(
                {{"id", copied(item.at("call_id"))}, {"type", "function"}, {"function", std::move(function)}});
        } else if (type == "function_call_output") {
            end_answer();
            out_.push_back({{"role", "tool"},
                            {"tool_call_id", copied(item.at("call_id"))},
                            {"content", parts_of(item.at("output"))}});
        } else if (type == "reasoning") {
            std::string thought;
            if (item.has("content"))
                for (const JsonView part : item.at("content").items()) thought += part.at("text").string();
            if (!thought.empty()) answer("reasoning_content")["reasoning_content"] = thought;
        } else {
            item.at("type").fail("expected \"message\", \"function_call\", \"function_call_output\" or \"reasoning\", "
                                 "found " +
                                 item.at("type").description());
        }
    }
    void say(const std::string &role, Json content) {
        end_answer();
        out_.push_back({{"role", role}, {"content", std::move(content)}});
    }
    [[nodiscard]] Json messages() {
        end_answer();
        return std::move(out_);
    }

  private:
    // The message of the model, a new one if it has this member already.
    Json &answer(std::string_view member) {
        const auto *members = answer_.members();
        if (members != nullptr && std::ranges::count(*members, member, &Json::Member::key) != 0) end_answer();
        if (answer_.empty()) answer_["role"] = "assistant";
        return answer_;
    }
    void end_answer() {
        if (answer_.empty()) return;
        out_.push_back(std::exchange(answer_, nullptr));
    }

    Json out_ = Json::array(), answer_ = nullptr;
    std::vector<GivenImage> &images_; // of all messages
};

Json messages_of_items(const JsonView &request, std::vector<GivenImage> &images) {
    Conversation out(images);
    if (request.has("instructions")) out.say("system", std::string(request.at("instructions").string()));
    const JsonView input = request.at("input");
    if (!input.is_string() && (!input.is_list() || input.items().size() == 0))
        input.fail("expected a text, or a list of at least one item, found " + input.description());
    if (input.is_string())
        out.say("user", std::string(input.string()));
    else
        for (const JsonView item : input.items()) out.add(item);
    return out.messages();
}

Json functions_of(const JsonView &tools) {
    Json out = Json::array();
    for (const JsonView tool : tools.items()) {
        if (tool.at("type").string() != "function")
            tool.at("type").fail("only tools of type \"function\" are supported, found " +
                                 tool.at("type").description());
        Json function = Json::object();
        for (const char *key : {"name", "description", "parameters", "strict"})
            if (tool.has(key)) function[key] = copied(tool.at(key));
        out.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    return out;
}

// "text": what an answer must be.
void add_format(const JsonView &text, Json &chat) {
    expect_fields(text, "ResponseText");
    if (!text.has("format")) return;
    const JsonView format = text.at("format");
    if (format.at("type").string() != "json_schema") {
        chat["response_format"] = Json{{"type", copied(format.at("type"))}};
        return;
    }
    Json schema = Json::object();
    for (const char *key : {"name", "description", "schema", "strict"})
        if (format.has(key)) schema[key] = copied(format.at(key));
    chat["response_format"] = Json{{"type", "json_schema"}, {"json_schema", std::move(schema)}};
}

} // namespace

ResponseRequest response_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    const std::vector<std::string> shared = shared_fields();
    expect_fields(request, "ResponseRequest");
    Json chat{{"model", copied(request.at("model"))}};
    for (const std::string &key : shared)
        if (request.has(key)) chat[key] = copied(request.at(key));
    for (const char *key : {"parallel_tool_calls", "truncation"})
        if (request.has(key)) chat[key] = copied(request.at(key));
    if (request.has("max_output_tokens")) chat["max_tokens"] = request.at("max_output_tokens").integer(1, INT32_MAX);
    std::vector<GivenImage> images;
    chat["messages"] = messages_of_items(request, images);
    if (request.has("tools")) chat["tools"] = functions_of(request.at("tools"));
    if (request.has("tool_choice")) {
        const JsonView choice = request.at("tool_choice");
        chat["tool_choice"] = choice.is_string() ? copied(choice)
                                                 : Json{{"type", copied(choice.at("type"))},
                                                        {"function", Json{{"name", copied(choice.at("name"))}}}};
    }
    if (request.has("reasoning") && request.at("reasoning").has("effort")) {
        const JsonView effort = request.at("reasoning").at("effort");
        expect_effort(effort);
        chat["reasoning_effort"] = copied(effort);
    }
    if (request.has("text")) add_format(request.at("text"), chat);

    ResponseRequest out{chat_request(chat.in_one_line()), Json::object()};
    out.answer.images = std::move(images);
    const auto repeat = [&](const char *key, Json otherwise) {
        out.repeated[key] = request.has(key) ? copied(request.at(key)) : std::move(otherwise);
    };
    repeat("instructions", nullptr);
    repeat("max_output_tokens", nullptr);
    repeat("metadata", Json::object());
    repeat("parallel_tool_calls", true);
    repeat("temperature", nullptr);
    repeat("top_p", nullptr);
    repeat("tool_choice", "auto");
    repeat("tools", Json::array());
    repeat("text", Json{{"format", Json{{"type", "text"}}}});
    return out;
}

} // namespace lamina::serve
