#include "base/json_reader.hpp"

#include "base/json.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

namespace lamina {
namespace {

constexpr size_t deepest = 64;

std::string pointer_step(std::string_view key) {
    std::string out = "/";
    for (const char c : printable(key)) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
}

[[noreturn]] void refuse(const std::string &file, const std::string &place, const std::string &message) {
    throw Error(ErrorCode::input, file + ": " + (place.empty() ? "" : place + ": ") + message);
}

// nlohmann's messages begin with "[json.exception.parse_error.101] ".
std::string without_label(const std::string &message) {
    const size_t end = message.find("] ");
    return printable(end == std::string::npos ? message : message.substr(end + 2));
}

// What stands in the line before an offset, of which the end is enough: whoever made the text may be the only one who
// has seen it.
std::string end_of_line(std::string_view text, size_t offset) {
    constexpr size_t enough = 60;
    text = text.substr(0, offset);
    text.remove_prefix(text.rfind('\n') + 1); // npos + 1 is 0
    size_t begin = text.size() - std::min(text.size(), enough);
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0u) == 0x80)
        ++begin; // whole characters
    return std::string(text.substr(begin));
}

} // namespace

// Takes the events of nlohmann's parser.
class JsonText::Builder {
  public:
    Builder(JsonText &out, std::string_view text) : out_(out), text_(text) {}

    bool null() { return add(Kind::null, "null"); }
    bool boolean(bool value) { return add(Kind::boolean, value ? "true" : "false"); }
    bool number_integer(int64_t value) { return add(Kind::number, kept(std::to_string(value))); }
    bool number_unsigned(uint64_t value) { return add(Kind::number, kept(std::to_string(value))); }
    bool number_float(double, const std::string &text) { return add(Kind::number, kept(text)); }
    bool string(const std::string &text) { return add(Kind::string, kept(text)); }
    static bool binary(const std::vector<uint8_t> &) { return false; } // not in JSON

    bool start_object(size_t) { return open(Kind::object); }
    bool start_array(size_t) { return open(Kind::list); }
    bool key(const std::string &text) {
        key_ = kept(text);
        return true;
    }
    bool end_object() {
        refuse_repeated_keys();
        return end_array();
    }
    bool end_array() {
        open_.pop_back();
        return true;
    }
    bool parse_error(size_t offset, const std::string &, const nlohmann::json::exception &error) {
        const std::string why = without_label(error.what()), line = end_of_line(text_, offset);
        const bool shows = why.starts_with("parse error") && !line.empty();
        refuse(out_.file_, "", "not JSON: " + why + (shows ? ", in " + in_quotes(line) : ""));
    }

  private:
    struct Container {
        uint32_t node, last = no_node;
    };

    std::string_view kept(const std::string &text) {
        out_.strings_ += text; // does not move: there is room for all of them
        return std::string_view(out_.strings_).substr(out_.strings_.size() - text.size());
    }

    bool add(Kind kind, std::string_view text) {
        if (out_.nodes_.size() >= no_node) refuse(out_.file_, "", "more than 2^32 values");
        const auto node = static_cast<uint32_t>(out_.nodes_.size());
        out_.nodes_.push_back({.key = std::exchange(key_, {}), .text = text, .kind = kind});
        if (open_.empty()) return true;
        Container &in = open_.back();
        out_.nodes_[node].parent = in.node;
        (in.last == no_node ? out_.nodes_[in.node].first : out_.nodes_[in.last].next) = node;
        in.last = node;
        ++out_.nodes_[in.node].count;
        return true;
    }

    bool open(Kind kind) {
        if (open_.size() == deepest)
            refuse(out_.file_, JsonView(out_, open_.back().node).place(),
                   "nested more than " + std::to_string(deepest) + " deep");
        const auto node = static_cast<uint32_t>(out_.nodes_.size());
        add(kind, {});
        open_.push_back({node});
        return true;
    }

    void refuse_repeated_keys() const {
        const JsonView object(out_, open_.back().node);
        std::vector<std::string_view> keys;
        keys.reserve(object.members().size());
        for (const JsonView member : object.members()) keys.push_back(member.key());
        std::sort(keys.begin(), keys.end());
        const auto twice = std::adjacent_find(keys.begin(), keys.end());
        if (twice != keys.end()) object.fail("the key " + in_quotes(*twice) + " appears twice here");
    }

    JsonText &out_;
    std::string_view text_;
    std::vector<Container> open_;
    std::string_view key_; // of the next value
};

// A value is the first of all, or of a list or an object, or stands behind a comma.
size_t JsonText::most_values(std::string_view text) {
    size_t out = 1;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') in_string = !in_string;
        if (in_string && c == '\\') ++i;
        if (!in_string && (c == ',' || c == '[' || c == '{')) ++out;
    }
    return out;
}

size_t JsonText::memory_for(std::string_view text) {
    // The last string and the blanks before it are held twice beside the text by the parser, in memory that doubles as
    // it grows, and again in its message if that is an error.
    constexpr size_t copies = 7;
    return copies * text.size() +
           most_values(text) * (sizeof(Node) + sizeof(std::string_view)); // the keys of an object
}

JsonText::JsonText(std::string_view text, std::string file) : file_(std::move(file)) {
    // The parser would treat a zero byte as the end of the text and ignore the rest.
    if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
        refuse(file_, "", "not JSON: a zero byte at offset " + std::to_string(zero));
    if (const size_t bad = first_invalid_utf8(text); bad != text.size())
        refuse(file_, "", "not JSON: invalid UTF-8 at offset " + std::to_string(bad));
    try {
        strings_.reserve(text.size()); // no string or number is longer than what it is written as
        nodes_.reserve(most_values(text));
        Builder builder(*this, text);
        nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    } catch (const std::bad_alloc &) {
        throw Error(ErrorCode::memory, file_ + ": does not fit into memory");
    }
}

JsonView::Iterator &JsonView::Iterator::operator++() {
    node_ = text_->nodes_[node_].next;
    return *this;
}

std::string JsonView::place() const {
    std::string out;
    for (uint32_t node = node_; node != JsonText::no_node;) {
        const uint32_t parent = text_->nodes_[node].parent;
        if (parent == JsonText::no_node) break;
        size_t index = 0;
        for (uint32_t each = text_->nodes_[parent].first; each != node && each != JsonText::no_node;
             each = text_->nodes_[each].next)
            ++index;
        const bool in_list = text_->nodes_[parent].kind == JsonText::Kind::list;
        out.insert(0, in_list ? "/" + std::to_string(index) : pointer_step(text_->nodes_[node].key));
        node = parent;
    }
    return out;
}

void JsonView::fail(const std::string &message) const { refuse(text_->file_, place(), message); }

void JsonView::expect(bool right, const char *what) const {
    if (!right) fail(std::string("expected ") + what + ", found " + description());
}

JsonView::Range JsonView::items() const {
    expect(is_list(), "a list");
    const JsonText::Node &node = text_->nodes_[node_];
    return {Iterator(*text_, node.first), Iterator(*text_, JsonText::no_node), node.count};
}

JsonView::Range JsonView::members() const {
    expect(is_object(), "an object");
    const JsonText::Node &node = text_->nodes_[node_];
    return {Iterator(*text_, node.first), Iterator(*text_, JsonText::no_node), node.count};
}

std::string_view JsonView::key() const { return text_->nodes_[node_].key; }

void JsonView::allow_keys(std::initializer_list<const char *> keys) const {
    allow_keys(std::vector<std::string>(keys.begin(), keys.end()));
}

void JsonView::allow_keys(const std::vector<std::string> &known) const {
    for (const JsonView member : members()) {
        if (std::ranges::count(known, member.key()) != 0) continue;
        std::string list;
        for (const std::string &name : known) list += (list.empty() ? "" : ", ") + name;
        fail("unknown key " + in_quotes(member.key()) + did_you_mean(member.key(), known) + " (expected: " + list +
             ")");
    }
}

uint32_t JsonView::find(std::string_view key) const {
    expect(is_object(), "an object");
    uint32_t node = text_->nodes_[node_].first;
    while (node != JsonText::no_node && text_->nodes_[node].key != key) node = text_->nodes_[node].next;
    return node;
}

bool JsonView::has(std::string_view key) const {
    const uint32_t node = find(key);
    return node != JsonText::no_node && text_->nodes_[node].kind != JsonText::Kind::null;
}

JsonView JsonView::at(size_t index) const {
    const Range all = items();
    if (index >= all.size()) fail("expected more than " + std::to_string(index) + " entries, found " + description());
    Iterator it = all.begin();
    while (index-- != 0) ++it;
    return *it;
}

JsonView JsonView::at(std::string_view key) const {
    const uint32_t node = find(key);
    if (node == JsonText::no_node) fail("the key " + in_quotes(key) + " is missing");
    return {*text_, node};
}

bool JsonView::is_null() const { return text_->nodes_[node_].kind == JsonText::Kind::null; }
bool JsonView::is_number() const { return text_->nodes_[node_].kind == JsonText::Kind::number; }
bool JsonView::is_boolean() const { return text_->nodes_[node_].kind == JsonText::Kind::boolean; }
bool JsonView::is_integer() const {
    const JsonText::Node &node = text_->nodes_[node_];
    return node.kind == JsonText::Kind::number && node.text.find_first_of(".eE") == std::string_view::npos;
}
bool JsonView::is_string() const { return text_->nodes_[node_].kind == JsonText::Kind::string; }
bool JsonView::is_list() const { return text_->nodes_[node_].kind == JsonText::Kind::list; }
bool JsonView::is_object() const { return text_->nodes_[node_].kind == JsonText::Kind::object; }

bool JsonView::boolean() const {
    expect(is_boolean(), "true or false");
    return text_->nodes_[node_].text == "true";
}

double JsonView::number() const {
    expect(is_number(), "a number");
    const std::string_view text = text_->nodes_[node_].text;
    double out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size()) fail("beyond the numbers that a double holds");
    return out;
}

int64_t JsonView::integer(int64_t lowest, int64_t highest) const {
    const JsonText::Node &node = text_->nodes_[node_];
    int64_t out = 0;
    const auto [end, error] = std::from_chars(node.text.data(), node.text.data() + node.text.size(), out);
    const bool whole =
        node.kind == JsonText::Kind::number && error == std::errc() && end == node.text.data() + node.text.size();
    if (!whole || out < lowest || out > highest)
        fail("expected a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest) + ", found " +
             description());
    return out;
}

std::string_view JsonView::string() const {
    expect(is_string(), "a string");
    return text_->nodes_[node_].text;
}

std::string JsonView::description() const {
    const JsonText::Node &node = text_->nodes_[node_];
    const auto sized = [&](const char *what) {
        return what + std::string(" with ") + std::to_string(node.count) + (node.count == 1 ? " entry" : " entries");
    };
    switch (node.kind) {
    case JsonText::Kind::object:
        return sized("an object");
    case JsonText::Kind::list:
        return sized("a list");
    case JsonText::Kind::string:
        return in_quotes(node.text);
    default:
        return std::string(node.text.substr(0, 60));
    }
}

std::string JsonView::written() const {
    const JsonText::Node &node = text_->nodes_[node_];
    if (is_string()) return json_string(node.text);
    if (is_null()) return "null";
    if (is_boolean()) return boolean() ? "true" : "false";
    if (is_number()) return std::string(node.text);
    std::string out;
    for (const JsonView part : is_object() ? members() : items()) {
        if (!out.empty()) out += ',';
        if (is_object()) out += json_string(part.key()) + ':';
        out += part.written();
    }
    return is_object() ? '{' + out + '}' : '[' + out + ']';
}

} // namespace lamina
