// Calls of tools: how templates write them, the grammar that calls are of, and what answers are made of.
#include "../../architectures/with_tokenizer.hpp"
#include "catch.hpp"
#include "places.hpp"
#include "serve/answer_parts.hpp"
#include "serve/tool_format.hpp"
#include "serve/tools.hpp"

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace lamina;
using namespace lamina::serve;

namespace {

std::string template_of(const std::string &name) {
    std::ostringstream out;
    out << std::ifstream(std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "unit" / "template" / "templates" /
                         (name + ".jinja"))
               .rdbuf();
    return out.str();
}

std::optional<ToolFormat> format_of_template(const std::string &text, const std::string &end) {
    const WithTokenizer model("llama");
    model.write("chat_template.jinja", text);
    model.write("tokenizer_config.json", nlohmann::json{{"eos_token", end}}.dump());
    return tool_format_of(test::runtime().load(model.path()));
}

Tools tools_in(const std::string &request) {
    const JsonText text(request, "request");
    return tools_of(text.root()).value();
}

const std::string two_tools = R"("tools": [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "time"}}])";

// "thought|...", "text|...", "call|...", "arguments|..."
std::vector<std::string> parts_of(AnswerParts parts, const std::string &text, size_t at_once) {
    std::vector<AnswerPart> all;
    const auto add = [&](std::vector<AnswerPart> more) {
        for (AnswerPart &part : more) {
            const bool goes_on = !all.empty() && all.back().kind == part.kind && part.kind != AnswerPart::Kind::call;
            goes_on ? void(all.back().text += part.text) : all.push_back(std::move(part));
        }
    };
    for (size_t at = 0; at < text.size(); at += at_once) add(parts.push(std::string_view(text).substr(at, at_once)));
    add(parts.finish());
    std::vector<std::string> out;
    constexpr std::array names{"thought", "text", "call", "arguments"};
    for (const AnswerPart &part : all) out.push_back(std::string(names.at(size_t(part.kind))) + "|" + part.text);
    return out;
}

const ToolFormat hermes{"<tool_call>\n{\"name\": \"", "\", \"arguments\": ", "}\n</tool_call>",
                        "}\n</tool_call>\n<tool_call>\n{\"name\": \""};

} // namespace

TEST_CASE("tools: templates say how their models write calls") {
    struct Example {
        const char *name, *end; // of the template, and of a turn
        ToolFormat format;
        const char *mark;
    };
    const std::vector<Example> examples{
        {"qwen2", "<|im_end|>", hermes, "<tool_call>"},
        {"llama3", "<|eot_id|>", {"{\"name\": \"", "\", \"parameters\": ", "}", ""}, "{\"name\": \""},
        {"mistral",
         "</s>",
         {"[TOOL_CALLS] [{\"name\": \"", "\", \"arguments\": ", "}]", "}, {\"name\": \""},
         "[TOOL_CALLS] ["},
    };
    for (const Example &example : examples) {
        INFO(example.name);
        const auto found = format_of_template(template_of(example.name), example.end);
        REQUIRE(found);
        CHECK(found->begin == example.format.begin);
        CHECK(found->middle == example.format.middle);
        CHECK(found->end == example.format.end);
        CHECK(found->next == example.format.next);
        CHECK(found->mark() == example.mark);
        CHECK(found->short_ids == (example.name == std::string("mistral")));
    }
    for (const char *name : {"chatml", "gemma", "phi3", "llama2", "zephyr", "deepseek"})
        CHECK_FALSE(format_of_template(template_of(name), "</s>"));
}

TEST_CASE("tools: an answer is taken apart, however it comes") {
    const std::string call =
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"K}\\\"\", \"a\": [{}]}}\n</tool_call>";
    const std::string second = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";
    struct Example {
        std::string text;
        bool thinks;
        std::vector<std::string> parts;
    };
    const std::string arguments = "arguments|{\"city\": \"K}\\\"\", \"a\": [{}]}";
    const std::vector<Example> examples{
        {"Hello <b>there</b>\n", false, {"text|Hello <b>there</b>\n"}},
        {" <think>\n2 and\n\n2\n</think>\n\n4\n", false, {"thought|2 and\n\n2", "text|4\n"}},
        {"\n2 and 2\n</think>\n\n4", true, {"thought|2 and 2", "text|4"}},
        {"2 and 2", true, {"thought|2 and 2"}},
        {"<thinking> I am", false, {"text|<thinking> I am"}},
        {call, false, {"call|weather", arguments}},
        {"I look.\n\n" + call + "\n", false, {"text|I look.", "call|weather", arguments}},
        {"<think>well</think>" + call + "\n" + second,
         false,
         {"thought|well", "call|weather", arguments, "call|time", "arguments|{}"}},
        {call + second + " done", false, {"call|weather", arguments, "call|time", "arguments|{}", "text|done"}},
        {"<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"ci", false, {"call|weather", "arguments|{\"ci"}},
        {"a <tool_cal", false, {"text|a <tool_cal"}},
    };
    for (const Example &example : examples)
        for (const size_t at_once : {1000, 1, 3, 7}) {
            INFO(example.text << " in pieces of " << at_once);
            CHECK(parts_of({hermes, example.thinks}, example.text, at_once) == example.parts);
        }
    for (const size_t at_once : {1000, 1})
        CHECK(parts_of({std::nullopt, false}, call + "\n", at_once) == std::vector{"text|" + call + "\n"});
}

TEST_CASE("tools: an answer of their grammar has calls as the tools want them") {
    const auto of = [](const std::string &more) {
        return grammar_of(tools_in("{" + two_tools + more + "}"), hermes, false);
    };
    const auto call = [](const std::string &name, const std::string &arguments) {
        return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>";
    };
    const std::string weather = call("weather", "{\"city\": \"Ulm\"}"), time = call("time", "{}");
    const std::vector<std::string> texts{"", "Hello <tool> <tool_call", "<<tool_call <tool_ca"};
    const std::vector<std::string> calls{weather, time, call("weather", "{\"city\": \"\", \"days\": 3}")};
    const std::vector<std::string> others{call("weather", "{}"), call("news", "{}"), call("weather", "{\"city\": 1}"),
                                          "<tool_call>",         "<<tool_call>",     "a <tool_<tool_call> b",
                                          weather + "."};
    const Grammar automatic = of(""), required = of(", \"tool_choice\": \"required\"");
    for (const std::string &text : texts) {
        INFO(text);
        CHECK(automatic.matches(text));
        CHECK_FALSE(required.matches(text));
    }
    for (const std::string &text : calls) {
        INFO(text);
        CHECK(automatic.matches(text));
        CHECK(automatic.matches("I look <tool_\n" + text));
        CHECK(automatic.matches(text + "\n" + weather));
        CHECK(required.matches(text));
        CHECK(required.matches("<think>\nI </thin\n</think>\n\n" + text));
        CHECK_FALSE(required.matches("I look " + text));
        CHECK_FALSE(of(", \"parallel_tool_calls\": false").matches(text + "\n" + weather));
    }
    for (const std::string &text : others) {
        INFO(text);
        CHECK_FALSE(automatic.matches(text));
        CHECK_FALSE(required.matches(text));
    }
    const Tools both = tools_in("{" + two_tools + "}");
    CHECK(grammar_of(both, hermes, true).matches("a <tool_call> is not needed\n</think>\n\nHello"));
    CHECK(grammar_of(both, hermes, true).matches("now\n</think>\n\n" + weather));
    CHECK_FALSE(grammar_of(both, hermes, true).matches(weather));
    const Grammar only = of(R"(, "tool_choice": {"type": "function", "function": {"name": "time"}})");
    CHECK(only.matches(time));
    CHECK_FALSE(only.matches(weather));
    CHECK_FALSE(only.matches(time + "\n" + time));
    const JsonText none("{" + two_tools + R"(, "tool_choice": "none"})", "request");
    CHECK_FALSE(tools_of(none.root()));
    // A schema beyond grammars is an error for tools that must keep to it.
    const auto odd = [](const char *strict) {
        return std::string(R"({"tools": [{"type": "function", "function": {"name": "f", "strict": )") + strict +
               R"(, "parameters": {"type": "object", "not": {}}}}]})";
    };
    CHECK(grammar_of(tools_in(odd("false")), hermes, false).matches(call("f", "{\"a\": 1}")));
    CHECK_THROWS_WITH(tools_in(odd("true")),
                      "request: /tools/0/function/parameters: /not: this keyword is not supported");
}

TEST_CASE("tools: requests that offer them wrongly are refused") {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {R"({"tools": [{"type": "search"}]})", "/tools/0/type: only tools of type \"function\""},
        {R"({"tools": [{"type": "function"}]})", "/tools/0: the key 'function' is missing"},
        {R"({"tools": [{"type": "function", "function": {"name": "a b"}}]})",
         "/tools/0/function/name: expected at most 64 letters"},
        {"{" + two_tools + R"(, "tool_choice": "any"})", "/tool_choice: expected \"none\", \"auto\""},
        {"{" + two_tools + R"(, "tool_choice": {"type": "function", "function": {"name": "x"}}})",
         "there is no such tool, found 'x'"},
    };
    for (const auto &[text, why] : wrong) {
        INFO(text);
        CHECK_THROWS_WITH(tools_in(text), matchers::contains(why));
    }
}

TEST_CASE("tools: templates get calls with arguments as JSON") {
    const JsonText text(R"([{"role": "developer", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
            "function": {"name": "f", "arguments": "{\"a\": [1, 2.5, null, true, \"x\"]}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"}])",
                        "request");
    CHECK(messages_for_template(text.root()).in_one_line() ==
          R"([{"role":"system","content":"a"},{"role":"assistant","content":"","tool_calls":[{"type":"function",)"
          R"("function":{"name":"f","arguments":{"a":[1,2.5,null,true,"x"]}},"id":"c1"}]},)"
          R"({"role":"tool","tool_call_id":"c1","content":"r"}])");
}

TEST_CASE("tools: ids of calls become short where a template takes no others") {
    const auto ids = [](const std::string &first, const std::string &second) {
        return R"([{"role":"assistant","content":"","tool_calls":[{"id":")" + first + R"(","type":"function"}]},)" +
               R"({"role":"tool","tool_call_id":")" + second + R"(","content":"r"}])";
    };
    CHECK(with_short_ids(ids("abcDEF123", "abcDEF123")) == ids("abcDEF123", "abcDEF123"));
    const std::string found = with_short_ids(ids("call_1a2b", "call_1a2b"));
    const JsonText text(found, "found");
    const JsonView messages = text.root();
    const std::string id(messages.at(0).at("tool_calls").at(0).at("id").string());
    CHECK(id.size() == 9);
    CHECK(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos);
    CHECK(messages.at(1).at("tool_call_id").string() == id);
    const std::string others = with_short_ids(ids("call_1a2b", "call_1a2c"));
    CHECK(others.find(id) == others.rfind(id));
}
