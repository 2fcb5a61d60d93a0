#include "base/readable_json.hpp"

namespace lamina {
namespace {

constexpr size_t line_width = 120;

std::string key_of(const Json::Member &member) { return json_string(member.key) + ": "; }

std::string one_line(const Json &value) {
    std::string out;
    if (const auto *items = value.items()) {
        for (const Json &item : *items) out += (out.empty() ? "" : ", ") + one_line(item);
        return "[" + out + "]";
    }
    if (const auto *members = value.members()) {
        for (const Json::Member &member : *members)
            out += (out.empty() ? "" : ", ") + key_of(member) + one_line(member.value);
        return "{" + out + "}";
    }
    return value.in_one_line();
}

std::string broken(const Json &value, size_t indent);

// An item of a list.
std::string item(const Json &value, size_t indent) {
    const auto *members = value.members();
    if (members == nullptr || members->empty() || members->back().value.items() == nullptr) return one_line(value);
    std::string out = "{";
    for (const Json::Member &member : *members) {
        const bool last = &member == &members->back();
        out += key_of(member) + (last ? broken(member.value, indent) + "}" : one_line(member.value) + ", ");
    }
    return out;
}

// A member of an object.
std::string member_text(const Json::Member &member, size_t indent) {
    const std::string key = key_of(member), line = one_line(member.value);
    const bool structured = member.value.items() != nullptr || member.value.members() != nullptr;
    return key + (structured && indent + key.size() + line.size() > line_width ? broken(member.value, indent) : line);
}

// One entry per line.
std::string broken(const Json &value, size_t indent) {
    const size_t inner = indent + 2;
    std::vector<std::string> entries;
    if (const auto *items = value.items())
        for (const Json &each : *items) entries.push_back(item(each, inner));
    if (const auto *members = value.members())
        for (const Json::Member &each : *members) entries.push_back(member_text(each, inner));
    std::string out(1, value.items() != nullptr ? '[' : '{');
    for (const std::string &entry : entries)
        out += (&entry == &entries.front() ? "\n" : ",\n") + std::string(inner, ' ') + entry;
    return out + "\n" + std::string(indent, ' ') + (value.items() != nullptr ? ']' : '}');
}

} // namespace

std::string readable_json(const Json &value) { return broken(value, 0) + "\n"; }

} // namespace lamina
