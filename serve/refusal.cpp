#include "refusal.hpp"

#include "base/json.hpp"
#include "base/utf8.hpp"

#include <cctype>
#include <new>

namespace lamina::serve {
namespace {

const char *type_of(int status) {
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 429:
        return "rate_limit_error";
    default:
        return status < 500 ? "invalid_request_error" : "server_error";
    }
}

// The field that the message of an Error is about: "messages" of "request: /messages/0/role: ...".
std::string field_of(std::string_view message) {
    constexpr std::string_view begin = "request: /";
    if (!message.starts_with(begin)) return "";
    message.remove_prefix(begin.size());
    return std::string(message.substr(0, message.find_first_of("/:")));
}

Json text_or_null(const std::string &text) { return text.empty() ? Json(nullptr) : Json(text); }

// Messages may quote a request: names of any length, and bytes that are not UTF-8, which JSON cannot hold.
std::string fair(std::string text) {
    constexpr size_t most = 2000; // bytes
    if (text.size() > most) text = text.substr(0, most / 2) + " ... " + text.substr(text.size() - most / 2);
    return first_invalid_utf8(text) == text.size() ? text : printable(text);
}

} // namespace

int status_of(const std::exception &why) {
    if (const auto *refusal = dynamic_cast<const Refusal *>(&why)) return refusal->status();
    if (dynamic_cast<const std::bad_alloc *>(&why) != nullptr) return 503;
    const auto *error = dynamic_cast<const Error *>(&why);
    if (error == nullptr) return 500;
    switch (error->code()) {
    case ErrorCode::usage:
    case ErrorCode::input:
        return 400;
    case ErrorCode::memory:
        return 503;
    default:
        return 500;
    }
}

std::string openai_error(int status, const std::string &message, const std::string &field, const std::string &code) {
    return Json{{"error", Json{{"message", fair(message)},
                               {"type", type_of(status)},
                               {"param", text_or_null(field)},
                               {"code", text_or_null(code)}}}}
        .in_one_line();
}

std::string anthropic_error(int status, const std::string &message) {
    const std::string type = status == 503 ? "overloaded_error" : status >= 500 ? "api_error" : type_of(status);
    return Json{{"type", "error"}, {"error", Json{{"type", type}, {"message", fair(message)}}}}.in_one_line();
}

Response refusal(const std::string &path, int status, const std::string &message, const std::string &field,
                 const std::string &code) {
    Response out{status};
    const bool v2 = path == "/v2" || path.starts_with("/v2/");
    const bool messages = path == "/v1/messages" || path.starts_with("/v1/messages/");
    out.body = v2         ? Json{{"error", fair(message)}}.in_one_line()
               : messages ? anthropic_error(status, message)
                          : openai_error(status, message, field, code);
    if (status == 401) out.headers["WWW-Authenticate"] = "Bearer";
    if (status == 429 || status == 503) out.headers["Retry-After"] = "1";
    return out;
}

Response refusal(const std::string &path, const std::exception &why, const std::string &message) {
    const auto *refused = dynamic_cast<const Refusal *>(&why);
    if (refused != nullptr) return refusal(path, refused->status(), message, refused->field(), refused->code());
    return refusal(path, status_of(why), message, field_of(why.what()));
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
    for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

std::string with_name(std::string text, std::string path, const std::string &name) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const auto in_name = [&](size_t i) {
        const auto c = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
        return c >= 0x80 || std::isalnum(c) != 0 || c == '_' || c == '-';
    };
    for (size_t at = 0; !path.empty() && (at = text.find(path, at)) != std::string::npos;) {
        const size_t end = at + path.size();
        const bool begins = at == 0 || (!in_name(at - 1) && text[at - 1] != '/' && text[at - 1] != '.');
        const bool ends = !in_name(end) && (end >= text.size() || text[end] != '.' || !in_name(end + 1));
        if (begins && ends) text.replace(at, path.size(), name);
        at += begins && ends ? name.size() : 1;
    }
    return text;
}

} // namespace lamina::serve
