#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace lamina {
namespace {

// The shortest text that reads back as the same double. 1.0 keeps its point, unlike the integer 1.
std::string number(double value) {
    if (!std::isfinite(value)) return "null";
    const double size = std::abs(value);
    const auto format =
        size == 0 || (size >= 1e-4 && size < 1e15) ? std::chars_format::fixed : std::chars_format::scientific;
    std::array<char, 40> digits{};
    std::string out(digits.data(), std::to_chars(digits.begin(), digits.end(), value, format).ptr);
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string escaped(char c) {
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        break;
    }
    constexpr const char *hex = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 ? std::string("\\u00") + hex[code >> 4] + hex[code & 15] : std::string(1, c);
}

// The items or members between their brackets; `write` writes one.
template <class Entries, class Write>
void write_list(std::string &out, const char *brackets, const Entries &entries, const size_t *indent, size_t depth,
                const Write &write) {
    const auto new_line = [&](size_t deep) {
        if (indent != nullptr) out += "\n" + std::string(*indent * deep, ' ');
    };
    out += brackets[0];
    for (const auto &entry : entries) {
        if (&entry != &entries.front()) out += ',';
        new_line(depth + 1);
        write(entry);
    }
    if (!entries.empty()) new_line(depth);
    out += brackets[1];
}

} // namespace

Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(const char *text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::initializer_list<Member> members) : value_(std::vector<Member>(members)) {}
Json::Json(const Json &other) = default;
Json::Json(Json &&other) noexcept = default;
Json &Json::operator=(Json other) {
    value_.swap(other.value_);
    return *this;
}
Json::~Json() = default;

Json Json::array(std::initializer_list<Json> items) {
    Json out;
    out.value_ = std::vector<Json>(items);
    return out;
}

Json Json::object() {
    Json out;
    out.value_ = std::vector<Member>();
    return out;
}

void Json::push_back(Json item) { std::get<std::vector<Json>>(value_).push_back(std::move(item)); }

Json &Json::operator[](std::string_view key) {
    if (std::holds_alternative<std::nullptr_t>(value_)) *this = object();
    auto &members = std::get<std::vector<Member>>(value_);
    const auto found = std::find_if(members.begin(), members.end(), [&](const Member &m) { return m.key == key; });
    return found != members.end() ? found->value : members.emplace_back(Member{std::string(key), {}}).value;
}

bool Json::empty() const {
    if (const auto *list = items()) return list->empty();
    if (const auto *object = members()) return object->empty();
    return std::holds_alternative<std::nullptr_t>(value_);
}

const std::string *Json::text() const { return std::get_if<std::string>(&value_); }

const std::vector<Json> *Json::items() const { return std::get_if<std::vector<Json>>(&value_); }

const std::vector<Json::Member> *Json::members() const { return std::get_if<std::vector<Member>>(&value_); }

std::string Json::in_one_line() const {
    std::string out;
    write(out, nullptr, 0);
    return out;
}

std::string Json::in_lines(size_t indent) const {
    std::string out;
    write(out, &indent, 0);
    return out;
}

void Json::write(std::string &out, const size_t *indent, size_t depth) const {
    if (const auto *flag = std::get_if<bool>(&value_)) out += *flag ? "true" : "false";
    if (const auto *whole = std::get_if<int64_t>(&value_)) out += std::to_string(*whole);
    if (const auto *count = std::get_if<uint64_t>(&value_)) out += std::to_string(*count);
    if (const auto *real = std::get_if<double>(&value_)) out += number(*real);
    if (const auto *words = text()) out += json_string(*words);
    if (const auto *list = items())
        write_list(out, "[]", *list, indent, depth, [&](const Json &each) { each.write(out, indent, depth + 1); });
    if (const auto *object = members())
        write_list(out, "{}", *object, indent, depth, [&](const Member &each) {
            out += json_string(each.key) + (indent != nullptr ? ": " : ":");
            each.value.write(out, indent, depth + 1);
        });
    if (std::holds_alternative<std::nullptr_t>(value_)) out += "null";
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) out += escaped(c);
    return out + '"';
}

} // namespace lamina
