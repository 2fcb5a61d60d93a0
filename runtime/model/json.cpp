#include "model/json.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace lamina::model {
namespace {

using nlohmann::json;

constexpr size_t deepest = 64;

[[noreturn]] void refuse(const std::string &file, const std::string &place, const std::string &message) {
    throw Error(ErrorCode::input, file + ": " + (place.empty() ? "" : place + ": ") + message);
}

// One step of a JSON pointer. Escapes "/" and "~" in a key, and characters that a terminal should not get.
std::string step(std::string_view key) {
    std::string out = "/";
    for (const char c : printable(key)) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
}

// Watches the parser, and refuses duplicate keys and deep nesting before they take memory.
class Watch {
  public:
    explicit Watch(const std::string &file) : file_(&file) {}

    bool operator()(json::parse_event_t event, const json &parsed) {
        switch (event) {
        case json::parse_event_t::object_start:
        case json::parse_event_t::array_start:
            count_item();
            if (open_.size() == deepest)
                refuse(*file_, place(), "nested more than " + std::to_string(deepest) + " deep");
            open_.push_back({.array = event == json::parse_event_t::array_start});
            break;
        case json::parse_event_t::object_end:
        case json::parse_event_t::array_end:
            open_.pop_back();
            break;
        case json::parse_event_t::key: {
            const auto &key = parsed.get_ref<const std::string &>();
            if (!open_.back().keys.insert(key).second)
                refuse(*file_, place(), "the key " + in_quotes(key) + " appears twice here");
            open_.back().last_key = key;
            break;
        }
        case json::parse_event_t::value:
            count_item();
            break;
        }
        return true; // keep the value
    }

  private:
    struct Container {
        bool array = false;
        size_t items = 0;
        std::string last_key = {};
        std::set<std::string> keys = {};
    };
    void count_item() {
        if (!open_.empty() && open_.back().array) ++open_.back().items;
    }
    // Of the innermost open container.
    [[nodiscard]] std::string place() const {
        std::string out;
        for (size_t i = 0; i + 1 < open_.size(); ++i)
            out += open_[i].array ? "/" + std::to_string(open_[i].items - 1) : step(open_[i].last_key);
        return out;
    }

    const std::string *file_;
    std::vector<Container> open_;
};

// nlohmann's messages begin with "[json.exception.parse_error.101] ".
std::string without_label(const std::string &message) {
    const size_t end = message.find("] ");
    return printable(end == std::string::npos ? message : message.substr(end + 2));
}

json parse(std::string_view text, const std::string &file) {
    // The parser would treat a zero byte as the end of the text and ignore the rest.
    if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
        refuse(file, "", "not JSON: a zero byte at offset " + std::to_string(zero));
    if (const size_t bad = first_invalid_utf8(text); bad != text.size())
        refuse(file, "", "not JSON: invalid UTF-8 at offset " + std::to_string(bad));
    Watch watch(file);
    try {
        return json::parse(text, [&](int, json::parse_event_t event, json &parsed) { return watch(event, parsed); });
    } catch (const json::exception &e) {
        refuse(file, "", "not JSON: " + without_label(e.what()));
    } catch (const std::bad_alloc &) {
        throw Error(ErrorCode::memory, file + ": does not fit into memory");
    }
}

} // namespace

JsonDocument::JsonDocument(std::string_view text, std::string file)
    : file_(std::move(file)), value_(std::make_unique<const json>(parse(text, file_))) {}

JsonDocument::~JsonDocument() = default;

bool JsonValue::is_null() const { return value_->is_null(); }
bool JsonValue::is_boolean() const { return value_->is_boolean(); }
bool JsonValue::is_number() const { return value_->is_number(); }
bool JsonValue::is_string() const { return value_->is_string(); }

void JsonValue::fail(const std::string &message) const { refuse(*file_, place_, message); }

std::string JsonValue::description() const {
    const auto sized = [&](const char *what) {
        return what + std::string(" with ") + std::to_string(value_->size()) +
               (value_->size() == 1 ? " entry" : " entries");
    };
    switch (value_->type()) {
    case json::value_t::null:
        return "null";
    case json::value_t::object:
        return sized("an object");
    case json::value_t::array:
        return sized("a list");
    case json::value_t::string:
        return in_quotes(value_->get_ref<const std::string &>());
    default:
        return value_->dump();
    }
}

void JsonValue::expect(bool right, const char *what) const {
    if (!right) fail(std::string("expected ") + what + ", found " + description());
}

JsonValue JsonValue::child(const json &value, std::string_view key) const {
    return {value, *file_, place_ + step(key)};
}

void JsonValue::allow_keys(std::initializer_list<const char *> keys) const {
    expect(value_->is_object(), "an object");
    for (const auto &[key, value] : value_->items()) {
        if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
        const std::vector<std::string> known(keys.begin(), keys.end());
        std::string list;
        for (const std::string &name : known) list += (list.empty() ? "" : ", ") + name;
        fail("unknown key " + in_quotes(key) + did_you_mean(key, known) + " (expected: " + list + ")");
    }
}

bool JsonValue::has(const char *key) const {
    expect(value_->is_object(), "an object");
    return value_->contains(key);
}

JsonValue JsonValue::at(const char *key) const {
    expect(value_->is_object(), "an object");
    const auto found = value_->find(key);
    if (found == value_->end()) fail("the key " + in_quotes(key) + " is missing");
    return child(*found, key);
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
    expect(value_->is_object(), "an object");
    std::vector<std::pair<std::string, JsonValue>> out;
    out.reserve(value_->size());
    for (const auto &[key, value] : value_->items()) out.emplace_back(key, child(value, key));
    return out;
}

std::vector<JsonValue> JsonValue::items() const {
    expect(value_->is_array(), "a list");
    std::vector<JsonValue> out;
    out.reserve(value_->size());
    for (size_t i = 0; i < value_->size(); ++i) out.push_back(child((*value_)[i], std::to_string(i)));
    return out;
}

bool JsonValue::boolean() const {
    expect(value_->is_boolean(), "true or false");
    return value_->get<bool>();
}

double JsonValue::number() const {
    expect(value_->is_number(), "a number");
    return value_->get<double>();
}

const std::string &JsonValue::string() const {
    expect(value_->is_string(), "a string");
    return value_->get_ref<const std::string &>();
}

int64_t JsonValue::integer(int64_t lowest, int64_t highest) const {
    const bool whole = value_->is_number_integer(); // as written; 1.0 is not an integer
    const bool fits = whole && (!value_->is_number_unsigned() || value_->get<uint64_t>() <= uint64_t{INT64_MAX});
    if (!fits || value_->get<int64_t>() < lowest || value_->get<int64_t>() > highest)
        fail("expected a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest) + ", found " +
             description());
    return value_->get<int64_t>();
}

} // namespace lamina::model
