#include "tools.hpp"

#include "answer_parts.hpp"
#include "fields.hpp"
#include "grammar_text.hpp"

#include "base/hash.hpp"

#include <algorithm>

namespace lamina::serve {
namespace {

constexpr size_t most_tools = 128; // as OpenAI has it

bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

Tool tool_of(const JsonView &tool) {
    if (tool.at("type").string() != "function")
        tool.at("type").fail("only tools of type \"function\" are supported, found " + tool.at("type").description());
    const JsonView function = tool.at("function");
    const JsonView name = function.at("name");
    if (name.string().empty() || name.string().size() > 64 || !std::ranges::all_of(name.string(), is_of_name))
        name.fail("expected at most 64 letters, digits, '_' and '-', found " + name.description());
    if (function.has("description")) (void)function.at("description").string();
    const bool strict = function.has("strict") && function.at("strict").boolean();
    Tool out{std::string(name.string()), R"({"type":"object"})"};
    if (!function.has("parameters")) return out;
    const JsonView parameters = function.at("parameters");
    if (!parameters.is_object() && !parameters.is_boolean())
        parameters.fail("expected a JSON Schema, found " + parameters.description());
    try {
        (void)Grammar::json_schema(parameters.written(), in_request(parameters));
        out.schema = parameters.written();
    } catch (const Error &) { // with "strict", arguments must be of the schema; else any JSON may do
        if (strict) throw;
    }
    return out;
}

// "none", "auto", "required" or a tool.
void expect_choice(const JsonView &choice) {
    if (!choice.is_string()) {
        if (choice.at("type").string() != "function")
            choice.at("type").fail("expected \"function\", found " + choice.at("type").description());
    } else if (choice.string() != "none" && choice.string() != "auto" && choice.string() != "required") {
        choice.fail("expected \"none\", \"auto\", \"required\" or a tool, found " + choice.description());
    }
}

// Which tools may be called.
void choose(const JsonView &choice, Tools &tools) {
    const auto only = [&](const JsonView &name) {
        std::erase_if(tools.tools, [&](const Tool &tool) { return tool.name != name.string(); });
        if (tools.tools.empty()) name.fail("there is no such tool, found " + name.description());
    };
    if (choice.is_string()) {
        if (choice.string() == "none") return tools.tools.clear();
        if (choice.string() == "required") tools.choice = Tools::Choice::required;
        return;
    }
    only(choice.at("function").at("name"));
    tools.choice = Tools::Choice::required;
    tools.parallel = false;
}

} // namespace

std::optional<Tools> tools_of(const JsonView &request) {
    Tools out;
    if (request.has("parallel_tool_calls")) out.parallel = request.at("parallel_tool_calls").boolean();
    if (request.has("tool_choice")) expect_choice(request.at("tool_choice"));
    if (!request.has("tools")) return std::nullopt;
    const JsonView list = request.at("tools");
    if (list.items().size() > most_tools) list.fail("expected at most " + std::to_string(most_tools) + " tools");
    for (const JsonView each : list.items()) out.tools.push_back(tool_of(each));
    out.json = list.written();
    if (request.has("tool_choice")) choose(request.at("tool_choice"), out);
    return out.tools.empty() ? std::nullopt : std::optional(std::move(out));
}

Grammar grammar_of(const Tools &tools, const ToolFormat &format, bool thinks) {
    const std::string_view mark = format.mark();
    const std::string rest = format.begin.substr(format.begin.find(mark) + mark.size());
    std::string rules = std::string("root ::= ") + (thinks ? "" : "(" + rule_text(think_begin) + " ") +
                        "thought0 [\\n]*" + (thinks ? "" : ")?");
    if (tools.choice == Tools::Choice::required)
        rules += " " + rule_text(format.begin) + " calls\n";
    else
        rules += " (text-none0 | text0 " + rule_text(rest) + " calls)\n" + rules_up_to("text", mark);
    rules += rules_up_to("thought", think_end);
    const bool several = tools.parallel && !format.next.empty();
    rules +=
        "calls ::= call " + (several ? "(" + rule_text(format.next) + " call)* " : "") + rule_text(format.end) + "\n";
    rules += "call ::= ";
    for (size_t i = 0; i < tools.tools.size(); ++i) {
        const Tool &tool = tools.tools[i];
        rules += (i > 0 ? " | " : "") + rule_text(tool.name + format.middle) + " %json " + tool.schema;
    }
    return Grammar::gbnf(rules + '\n', "tools");
}

namespace {

Json call_for_template(const JsonView &call) {
    const JsonView function = call.at("function");
    const JsonView arguments = function.at("arguments");
    Json values = Json::object();
    if (arguments.is_object()) values = copied(arguments);
    if (arguments.is_string() && !arguments.string().empty()) {
        const JsonText text(arguments.string(), in_request(arguments));
        values = copied(text.root());
    }
    Json out{{"type", "function"},
             {"function", Json{{"name", std::string(function.at("name").string())}, {"arguments", std::move(values)}}}};
    if (call.has("id")) out["id"] = std::string(call.at("id").string());
    return out;
}

bool is_letter_or_digit(char c) { return is_of_name(c) && c != '_' && c != '-'; }

std::string short_id(std::string_view id) {
    constexpr size_t letters = 9;
    if (id.size() == letters && std::ranges::all_of(id, is_letter_or_digit)) return std::string(id);
    std::string out;
    for (uint64_t rest = hash_of(std::as_bytes(std::span(id))); out.size() < letters; rest /= 26)
        out += static_cast<char>('a' + rest % 26);
    return out;
}

} // namespace

std::string with_short_ids(const std::string &messages) {
    const JsonText text(messages, "request");
    Json out = Json::array();
    for (const JsonView message : text.root().items()) {
        Json one = copied(message);
        if (message.has("tool_call_id")) one["tool_call_id"] = short_id(message.at("tool_call_id").string());
        if (message.has("tool_calls")) {
            Json calls = Json::array();
            for (const JsonView call : message.at("tool_calls").items()) {
                Json with_id = copied(call);
                if (call.has("id")) with_id["id"] = short_id(call.at("id").string());
                calls.push_back(std::move(with_id));
            }
            one["tool_calls"] = std::move(calls);
        }
        out.push_back(std::move(one));
    }
    return out.in_one_line();
}

Json messages_for_template(const JsonView &messages) {
    Json out = Json::array();
    for (const JsonView message : messages.items()) {
        Json one = Json::object();
        for (const JsonView part : message.members()) {
            if (part.key() == "content") {
                one["content"] = content_for_template(message);
            } else if (part.key() == "tool_calls" && !part.is_null()) {
                Json calls = Json::array();
                for (const JsonView call : part.items()) calls.push_back(call_for_template(call));
                one["tool_calls"] = std::move(calls);
            } else if (part.key() == "role") {
                one["role"] = std::string(part.string() == "developer" ? "system" : part.string());
            } else if (part.is_string()) {
                one[part.key()] = std::string(part.string());
            }
        }
        if (!message.has("content")) one["content"] = "";
        out.push_back(std::move(one));
    }
    return out;
}

} // namespace lamina::serve
