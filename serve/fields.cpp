#include "fields.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"

#include <algorithm>
#include <cstdlib>

namespace lamina::serve {
namespace {

bool has_value(const JsonView &view, std::string_view value) {
    if (view.is_null()) return true;
    if (value == "[]") return view.is_list() && view.items().size() == 0;
    if (value == "{}") return view.is_object() && view.members().size() == 0;
    if (value == "true" || value == "false") return view.is_boolean() && view.boolean() == (value == "true");
    if (value.starts_with('"')) return view.is_string() && view.string() == value.substr(1, value.size() - 2);
    if (value == "null") return false;
    return view.is_number() && view.number() == std::strtod(std::string(value).c_str(), nullptr);
}

} // namespace

void expect_fields(const JsonView &request, std::string_view schema) {
    const Fields &fields = fields_of(schema);
    for (const JsonView member : request.members()) {
        const std::string_view key = member.key();
        if (member.is_null()) continue; // clients write null for what is not given
        if (std::ranges::find(fields.supported, key) != fields.supported.end()) continue;
        if (std::ranges::find(fields.ignored, key) != fields.ignored.end()) continue;
        const auto known = std::ranges::find(fields.only, key, &Fields::Only::field);
        if (known == fields.only.end())
            member.fail("unknown field" + did_you_mean(key, fields.supported) + "; supported are " +
                        joined(fields.supported));
        if (!has_value(member, known->value))
            member.fail("not supported: expected no such field, or " + std::string(known->value));
    }
}

std::vector<std::string> texts_of(const JsonView &value, size_t most) {
    if (value.is_string()) return {std::string(value.string())};
    if (!value.is_list()) value.fail("expected a text or a list of texts, found " + value.description());
    if (const size_t found = value.items().size(); found > most)
        value.fail("expected at most " + std::to_string(most) + " texts, found " + std::to_string(found));
    std::vector<std::string> out;
    for (const JsonView item : value.items()) {
        if (!item.is_string()) item.fail("expected a text, found " + item.description());
        out.emplace_back(item.string());
    }
    return out;
}

std::optional<bool> truncation_of(const JsonView &request) {
    std::optional<bool> out;
    if (request.has("truncate_prompt_tokens")) {
        const JsonView tokens = request.at("truncate_prompt_tokens");
        if (tokens.integer(INT32_MIN, INT32_MAX) != -1)
            tokens.fail("expected -1, as many tokens as the model takes, found " + tokens.description());
        out = true;
    }
    for (const char *field : {"truncation", "truncate"})
        if (request.has(field)) out = request.at(field).boolean();
    return out;
}

std::string content_of(const JsonView &message, std::vector<GivenImage> *images) {
    if (!message.has("content")) return "";
    const JsonView content = message.at("content");
    if (content.is_string()) return std::string(content.string());
    if (!content.is_list()) content.fail("expected a text or a list of parts, found " + content.description());
    std::string out;
    for (const JsonView part : content.items()) {
        const JsonView type = part.at("type");
        if (type.string() == "text") {
            expect_fields(part, "TextPart");
            out += part.at("text").string();
        } else if (images != nullptr && type.string() == "image_url") {
            expect_fields(part, "ImagePart");
            images->push_back(image_of(part));
        } else {
            type.fail(std::string("only parts of type \"text\"") + (images != nullptr ? " and \"image_url\"" : "") +
                      " are supported, found " + type.description());
        }
    }
    return out;
}

Json content_for_template(const JsonView &message) {
    Json parts = Json::array();
    bool sees = false;
    if (message.has("content") && message.at("content").is_list())
        for (const JsonView part : message.at("content").items()) {
            const bool is_text = part.at("type").string() == "text";
            sees = sees || !is_text;
            parts.push_back(is_text ? Json{{"type", "text"}, {"text", std::string(part.at("text").string())}}
                                    : Json{{"type", "image"}});
        }
    return sees ? parts : Json(content_of(message));
}

Json copied(const JsonView &value) {
    if (value.is_null()) return nullptr;
    if (value.is_boolean()) return value.boolean();
    if (value.is_string()) return std::string(value.string());
    if (value.is_integer()) return value.integer(INT64_MIN, INT64_MAX);
    if (value.is_number()) return value.number();
    Json out = value.is_list() ? Json::array() : Json::object();
    for (const JsonView part : value.is_list() ? value.items() : value.members()) {
        if (value.is_list())
            out.push_back(copied(part));
        else
            out[part.key()] = copied(part);
    }
    return out;
}

} // namespace lamina::serve
