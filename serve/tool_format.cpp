#include "tool_format.hpp"

#include "base/json.hpp"

#include <lamina/texts.hpp>

#include <algorithm>
#include <vector>

namespace lamina::serve {
namespace {

// No template says any of these by itself.
constexpr const char *probe_text = "zqcontent", *probe_tool = "zqname", *probe_other = "zqother", *probe_key = "zqkey";
constexpr const char *probe_id = "zq1234567", *probe_long_id = "call_zq1234567"; // as Mistral's and OpenAI's are

Json call_of(const char *tool, const char *id) {
    return {
        {"type", "function"}, {"id", id}, {"function", Json{{"name", tool}, {"arguments", Json{{probe_key, "v"}}}}}};
}

Json tool_of(const char *tool) {
    const Json properties{{probe_key, Json{{"type", "string"}}}};
    return {{"type", "function"},
            {"function", Json{{"name", tool},
                              {"description", "of a probe"},
                              {"parameters", Json{{"type", "object"}, {"properties", properties}}}}}};
}

Json message_of(const char *role, const char *content) { return {{"role", role}, {"content", content}}; }

// A conversation in which the model has answered so, or has called these tools, and which has gone on.
std::string rendered(const Model &model, const std::vector<const char *> &called, const char *id) {
    Json messages = Json::array({message_of("user", "u")});
    if (!called.empty()) {
        Json calls = Json::array(), answer = message_of("assistant", "");
        for (const char *tool : called) calls.push_back(call_of(tool, id));
        answer["tool_calls"] = std::move(calls);
        messages.push_back(std::move(answer));
        for (const char *tool : called)
            messages.push_back({{"role", "tool"}, {"name", tool}, {"tool_call_id", id}, {"content", "r"}});
    }
    messages.push_back(message_of("assistant", probe_text));
    messages.push_back(message_of("user", "u"));
    return chat_prompt(model, {},
                       {{"messages", messages.in_one_line()},
                        {"tools", Json::array({tool_of(probe_tool), tool_of(probe_other)}).in_one_line()},
                        {"add_generation_prompt", "false"}});
}

struct Span {
    size_t begin, end;
};

// The JSON object in which the key stands.
std::optional<Span> object_around_key(const std::string &text, size_t from) {
    const size_t at = text.find(probe_key, from);
    if (at == std::string::npos) return std::nullopt;
    const size_t begin = text.rfind('{', at), end = text.find('}', at);
    if (begin == std::string::npos || begin < from || end == std::string::npos) return std::nullopt;
    const std::string_view before = std::string_view(text).substr(begin + 1, at - begin - 1);
    return before.find_first_not_of(" \n\"") == std::string_view::npos ? std::optional(Span{begin, end + 1})
                                                                       : std::nullopt;
}

// Without an id behind the arguments, which models leave to those who read calls.
std::string without_id(std::string text) {
    const size_t at = text.find(probe_id);
    const size_t comma = at == std::string::npos ? at : text.rfind(',', at);
    if (comma == std::string::npos) return text;
    return text.erase(comma, text.find('"', at) + 1 - comma);
}

// What ends an answer: a token, or a few characters.
std::string ending_of(const std::string &plain) {
    const std::string after = plain.substr(plain.find(probe_text) + std::string_view(probe_text).size());
    const size_t bracket = after.starts_with('<') ? after.find('>') : std::string::npos;
    return after.substr(0, bracket == std::string::npos ? 4 : bracket + 1);
}

// What a template says before an answer is the same before a call; and both end alike.
ToolFormat found_in(const std::string &plain, const std::string &called, const std::string &two) {
    ToolFormat out;
    const auto begin_of = [&](const std::string &text) {
        return static_cast<size_t>(std::ranges::mismatch(plain, text).in2 - text.begin());
    };
    const size_t begin = begin_of(called), at = called.find(probe_tool, begin);
    if (at == std::string::npos) return out;
    const std::optional<Span> arguments = object_around_key(called, at);
    if (!arguments) return out;
    const std::string ending = ending_of(plain);
    const size_t ends = called.find(ending, arguments->end);
    if (ends == std::string::npos) return out;
    out.begin = called.substr(begin, at - begin);
    const size_t behind = at + std::string_view(probe_tool).size();
    out.middle = called.substr(behind, arguments->begin - behind);
    out.end = without_id(called.substr(arguments->end, ends - arguments->end));

    const size_t first = two.empty() ? std::string::npos : two.find(probe_tool, begin_of(two));
    if (first == std::string::npos) return out;
    const std::optional<Span> before = object_around_key(two, first);
    if (!before) return out;
    const size_t second = two.find(probe_other, before->end);
    if (second < two.find(ending, before->end)) out.next = without_id(two.substr(before->end, second - before->end));
    return out;
}

std::string rendered_if_possible(const Model &model, const std::vector<const char *> &called,
                                 const char *id = probe_id) {
    try {
        return rendered(model, called, id);
    } catch (const Error &) {
        return "";
    } // some templates take one call at a time, some none
}

} // namespace

std::optional<ToolFormat> tool_format_of(const Model &model) {
    const std::string plain = rendered_if_possible(model, {}), called = rendered_if_possible(model, {probe_tool});
    const bool shows_tools = called.find(probe_other) != std::string::npos;
    if (!shows_tools || plain.find(probe_text) == std::string::npos) return std::nullopt;
    ToolFormat out = found_in(plain, called, rendered_if_possible(model, {probe_tool, probe_other}));
    out.short_ids = rendered_if_possible(model, {probe_tool}, probe_long_id).empty();
    return out.begin.empty() ? std::nullopt : std::optional(std::move(out));
}

} // namespace lamina::serve
