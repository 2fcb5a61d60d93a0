#include "session/readable_json.hpp"

namespace lamina::session {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t columns = 120;
constexpr size_t step = 2; // columns that an inner value is indented by

std::string key_of(const Json::const_iterator &member, bool object) {
    return object ? Json(member.key()).dump() + ": " : "";
}

std::string one_line(const Json &value) {
    if (!value.is_structured()) return value.dump();
    std::string out;
    for (auto it = value.begin(); it != value.end(); ++it)
        out += (out.empty() ? "" : ", ") + key_of(it, value.is_object()) + one_line(*it);
    return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

// `used`: columns of its line before the value, and behind it.
void write(const Json &value, size_t indent, size_t used, std::string &out) {
    const std::string line = one_line(value);
    if (!value.is_structured() || used + line.size() <= columns) {
        out += line;
        return;
    }
    out += value.is_object() ? '{' : '[';
    for (auto it = value.begin(); it != value.end(); ++it) {
        const std::string key = key_of(it, value.is_object());
        out += (it == value.begin() ? "\n" : ",\n") + std::string(indent + step, ' ') + key;
        write(*it, indent + step, indent + step + key.size() + 1, out);
    }
    out += "\n" + std::string(indent, ' ') + (value.is_object() ? '}' : ']');
}

} // namespace

std::string readable_json(const Json &value) {
    std::string out;
    write(value, 0, 0, out);
    return out + "\n";
}

} // namespace lamina::session
