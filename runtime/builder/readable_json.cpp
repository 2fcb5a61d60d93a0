#include "builder/readable_json.hpp"

namespace lamina::builder {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t columns = 120;

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

bool ends_in_list(const Json &value) {
    return value.is_object() && !value.empty() && std::prev(value.end())->is_array();
}

std::string broken(const Json &value, size_t indent);

std::string item(const Json &value, size_t indent) {
    if (!ends_in_list(value)) return one_line(value);
    std::string out = "{";
    for (auto it = value.begin(); it != value.end(); ++it)
        out += key_of(it, true) + (std::next(it) == value.end() ? broken(*it, indent) + "}" : one_line(*it) + ", ");
    return out;
}

// One entry a line.
std::string broken(const Json &value, size_t indent) {
    const size_t inner = indent + 2;
    std::string out(1, value.is_object() ? '{' : '[');
    for (auto it = value.begin(); it != value.end(); ++it) {
        const std::string start = std::string(inner, ' ') + key_of(it, value.is_object());
        std::string text = value.is_array() ? item(*it, inner) : one_line(*it);
        if (value.is_object() && it->is_structured() && start.size() + text.size() > columns) text = broken(*it, inner);
        out += (it == value.begin() ? "\n" : ",\n") + start + text;
    }
    return out + "\n" + std::string(indent, ' ') + (value.is_object() ? '}' : ']');
}

} // namespace

std::string readable_json(const Json &value) { return broken(value, 0) + "\n"; }

} // namespace lamina::builder
