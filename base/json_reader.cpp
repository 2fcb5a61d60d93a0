#include "base/json_reader.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

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

// The length of the number at the start of `text`; nothing if there is no valid JSON number.
std::optional<size_t> number_length(std::string_view text) {
    size_t at = 0;
    const auto digits = [&] {
        const size_t begin = at;
        while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
        return at - begin;
    };
    if (at < text.size() && text[at] == '-') ++at;
    const size_t first = at;
    const size_t whole = digits();
    if (whole == 0 || (whole > 1 && text[first] == '0')) return std::nullopt;
    if (at < text.size() && text[at] == '.') {
        ++at;
        if (digits() == 0) return std::nullopt;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
        if (digits() == 0) return std::nullopt;
    }
    return at;
}

} // namespace

class JsonParser {
  public:
    explicit JsonParser(JsonText &out) : out_(out), text_(out.text_) {}

    void parse() {
        out_.nodes_.reserve(text_.size() / 16 + 16);
        skip_blanks();
        value(JsonText::no_node, {}, 0);
        skip_blanks();
        if (at_ != text_.size()) fail("expected the end");
    }

  private:
    using Kind = JsonText::Kind;

    [[noreturn]] void fail(const std::string &what) const {
        const std::string found =
            at_ >= text_.size() ? "the end" : in_quotes(text_.substr(at_, std::min<size_t>(1, text_.size() - at_)));
        const auto line =
            std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(std::min(at_, text_.size())), '\n');
        refuse(out_.file_, "",
               "not JSON: line " + std::to_string(line + 1) + ", offset " + std::to_string(at_) + ": " + what +
                   ", found " + found);
    }
    void skip_blanks() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
            ++at_;
    }
    [[nodiscard]] bool accept(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) fail(std::string("expected '") + c + "'");
    }

    uint32_t value(uint32_t parent, std::string_view key, size_t depth) {
        const auto node = static_cast<uint32_t>(out_.nodes_.size());
        if (out_.nodes_.size() >= JsonText::no_node) fail("more than 2^32 values");
        out_.nodes_.emplace_back();
        out_.nodes_.back().key = key;
        out_.nodes_.back().parent = parent;
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        if (c == '{' || c == '[') {
            if (depth == deepest)
                refuse(out_.file_, JsonView(out_, parent).place(),
                       "nested more than " + std::to_string(deepest) + " deep");
            ++at_;
            entries(node, c == '{', depth + 1);
        } else if (c == '"') {
            const std::string_view text = string();
            set(node, Kind::string, text);
        } else {
            set(node, Kind::null, {});
            scalar(node);
        }
        return node;
    }
    void set(uint32_t node, Kind kind, std::string_view text) {
        out_.nodes_[node].kind = kind;
        out_.nodes_[node].text = text;
    }

    void entries(uint32_t node, bool is_object, size_t depth) {
        out_.nodes_[node].kind = is_object ? Kind::object : Kind::list;
        const char close = is_object ? '}' : ']';
        std::vector<std::string_view> keys;
        uint32_t last = JsonText::no_node, count = 0;
        skip_blanks();
        if (accept(close)) return;
        do {
            skip_blanks();
            std::string_view key;
            if (is_object) {
                if (at_ >= text_.size() || text_[at_] != '"') fail("expected a key");
                keys.push_back(key = string());
                skip_blanks();
                expect(':');
                skip_blanks();
            }
            const uint32_t entry = value(node, key, depth);
            (last == JsonText::no_node ? out_.nodes_[node].first : out_.nodes_[last].next) = entry;
            last = entry;
            ++count;
            skip_blanks();
        } while (accept(','));
        expect(close);
        out_.nodes_[node].count = count;
        refuse_repeated(node, keys);
    }

    void refuse_repeated(uint32_t node, std::vector<std::string_view> &keys) const {
        std::sort(keys.begin(), keys.end());
        const auto twice = std::adjacent_find(keys.begin(), keys.end());
        if (twice != keys.end()) JsonView(out_, node).fail("the key " + in_quotes(*twice) + " appears twice here");
    }

    void scalar(uint32_t node) {
        const std::string_view rest = text_.substr(at_);
        for (const auto &[word, kind] :
             {std::pair{std::string_view("null"), Kind::null}, {"true", Kind::boolean}, {"false", Kind::boolean}})
            if (rest.starts_with(word)) {
                set(node, kind, word);
                at_ += word.size();
                return;
            }
        const auto length = number_length(rest);
        if (!length) fail("expected a value");
        set(node, Kind::number, rest.substr(0, *length));
        at_ += *length;
    }

    // Escapes are rare, so only strings with escapes are copied.
    std::string_view string() {
        expect('"');
        const size_t begin = at_;
        while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
               static_cast<unsigned char>(text_[at_]) >= 0x20)
            ++at_;
        if (accept('"')) return text_.substr(begin, at_ - 1 - begin);
        std::string out(text_.substr(begin, at_ - begin));
        while (!accept('"')) {
            if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20) fail("expected '\"'");
            if (accept('\\'))
                escape(out);
            else
                out += text_[at_++];
        }
        return out_.unescaped_.emplace_back(std::move(out));
    }
    void escape(std::string &out) {
        constexpr std::string_view names = "\"\\/bfnrt", characters = "\"\\/\b\f\n\r\t";
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        if (c == 'u') {
            ++at_;
            unicode(out);
            return;
        }
        const size_t found = c == '\0' ? std::string_view::npos : names.find(c);
        if (found == std::string_view::npos) fail("expected an escape");
        out += characters[found];
        ++at_;
    }
    void unicode(std::string &out) {
        uint32_t code = four_digits();
        if (code >= 0xDC00 && code < 0xE000) fail("half a surrogate pair");
        if (code >= 0xD800 && code < 0xDC00) {
            const uint32_t low = accept('\\') && accept('u') ? four_digits() : 0;
            if (low < 0xDC00 || low >= 0xE000) fail("half a surrogate pair");
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        append_utf8(out, code);
    }
    uint32_t four_digits() {
        uint32_t out = 0;
        const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
        if (error != std::errc() || end != digits.data() + 4) fail("expected four hexadecimal digits");
        at_ += 4;
        return out;
    }

    JsonText &out_;
    std::string_view text_;
    size_t at_ = 0;
};

JsonText::JsonText(std::string text, std::string file) : text_(std::move(text)), file_(std::move(file)) {
    if (const size_t bad = first_invalid_utf8(text_); bad != text_.size())
        refuse(file_, "", "not JSON: invalid UTF-8 at offset " + std::to_string(bad));
    JsonParser(*this).parse();
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
    for (const JsonView member : members()) {
        if (std::find(keys.begin(), keys.end(), member.key()) != keys.end()) continue;
        const std::vector<std::string> known(keys.begin(), keys.end());
        std::string list;
        for (const std::string &name : known) list += (list.empty() ? "" : ", ") + name;
        fail("no key " + in_quotes(member.key()) + " belongs here" + did_you_mean(member.key(), known) + " (" + list +
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

JsonView JsonView::at(std::string_view key) const {
    const uint32_t node = find(key);
    if (node == JsonText::no_node) fail("the key " + in_quotes(key) + " is missing");
    return {*text_, node};
}

bool JsonView::is_null() const { return text_->nodes_[node_].kind == JsonText::Kind::null; }
bool JsonView::is_boolean() const { return text_->nodes_[node_].kind == JsonText::Kind::boolean; }
bool JsonView::is_integer() const {
    const JsonText::Node &node = text_->nodes_[node_];
    return node.kind == JsonText::Kind::number && node.text.find_first_of(".eE") == std::string_view::npos;
}
bool JsonView::is_string() const { return text_->nodes_[node_].kind == JsonText::Kind::string; }
bool JsonView::is_list() const { return text_->nodes_[node_].kind == JsonText::Kind::list; }
bool JsonView::is_object() const { return text_->nodes_[node_].kind == JsonText::Kind::object; }

bool JsonView::boolean() const {
    expect(text_->nodes_[node_].kind == JsonText::Kind::boolean, "true or false");
    return text_->nodes_[node_].text == "true";
}

double JsonView::number() const {
    expect(text_->nodes_[node_].kind == JsonText::Kind::number, "a number");
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

} // namespace lamina
