#include "form.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace lamina::serve {
namespace {

[[noreturn]] void refuse(const std::string &why) { throw Error(ErrorCode::input, "request: malformed form: " + why); }

bool same_word(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// "form-data" of "form-data; name=..."
std::string_view first_word(std::string_view header) { return trimmed(header.substr(0, header.find(';'))); }

// A value in quotes, or up to the next ';'. What is behind it stays in `rest`.
std::string take_value(std::string_view &rest) {
    std::string out;
    if (!rest.starts_with('"')) {
        const size_t end = std::min(rest.find(';'), rest.size());
        out = trimmed(rest.substr(0, end));
        rest.remove_prefix(end);
        return out;
    }
    for (rest.remove_prefix(1); !rest.empty() && rest.front() != '"'; rest.remove_prefix(1)) {
        if (rest.size() > 1 && rest.front() == '\\' && (rest[1] == '"' || rest[1] == '\\')) rest.remove_prefix(1);
        out += rest.front();
    }
    if (rest.empty()) refuse("a quote is open");
    rest.remove_prefix(1);
    return out;
}

// The value of `name` in 'form-data; name="file"; filename="a.wav"'.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
    for (size_t next = header.find(';'); next != std::string_view::npos; next = header.find(';')) {
        header.remove_prefix(next + 1);
        const size_t equals = header.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string_view found = trimmed(header.substr(0, equals));
        header.remove_prefix(equals + 1);
        header.remove_prefix(std::min(header.find_first_not_of(" \t"), header.size()));
        std::string value = take_value(header);
        if (same_word(found, name)) return value;
    }
    return std::nullopt;
}

// What is in front of `end`, which is taken away with it.
std::string_view take_until(std::string_view &rest, std::string_view end, const char *what) {
    const size_t at = rest.find(end);
    if (at == std::string_view::npos) refuse(std::string(what) + " has no end");
    const std::string_view out = rest.substr(0, at);
    rest.remove_prefix(at + end.size());
    return out;
}

// From behind the line of the boundary to the next one.
FormField take_field(std::string_view &rest, const std::string &boundary) {
    FormField out;
    bool named = false;
    while (!rest.starts_with("\r\n")) {
        const std::string_view line = take_until(rest, "\r\n", "a header");
        const size_t colon = std::min(line.find(':'), line.size());
        if (!same_word(trimmed(line.substr(0, colon)), "content-disposition")) continue;
        const std::string_view value = line.substr(std::min(colon + 1, line.size()));
        named = parameter(value, "name").has_value();
        out.name = parameter(value, "name").value_or("");
        out.file = parameter(value, "filename").value_or("");
    }
    rest.remove_prefix(2);
    if (!named) refuse("a field has no name");
    out.content = take_until(rest, "\r\n" + boundary, "a field");
    return out;
}

} // namespace

std::vector<FormField> form_of(const Request &request) {
    const std::string type = request.header("content-type");
    if (!same_word(first_word(type), "multipart/form-data")) return {};
    const std::string boundary = "--" + parameter(type, "boundary").value_or("");
    if (boundary.size() == 2 || boundary.size() > 72) // RFC 2046: 1 to 70 characters
        refuse("Content-Type: expected a boundary of 1 to 70 characters");
    std::vector<FormField> out;
    std::string_view rest = request.body;
    if (rest.starts_with(boundary))
        rest.remove_prefix(boundary.size());
    else
        (void)take_until(rest, "\r\n" + boundary, "what is in front of the first field");
    while (!rest.starts_with("--")) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
        if (!rest.starts_with("\r\n")) refuse("expected the end of the line behind a boundary");
        rest.remove_prefix(2);
        if (out.size() == most_fields) refuse("expected at most " + std::to_string(most_fields) + " fields");
        out.push_back(take_field(rest, boundary));
    }
    return out;
}

} // namespace lamina::serve
