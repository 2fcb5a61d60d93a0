// JSON in templates: the filter tojson, and variables that are passed as JSON.
#include "template/arithmetic.hpp"
#include "template/characters.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lamina::jinja {
namespace {

class JsonWriter {
  public:
    JsonWriter(Run &run, const JsonStyle &style) : run_(run), style_(style) {}

    std::string text;

    void write(const Value &value) {
        if (value.is_none())
            text += "null";
        else if (value.boolean() != nullptr)
            text += *value.boolean() ? "true" : "false";
        else if (value.integer())
            text += std::to_string(*value.integer());
        else if (value.real() != nullptr)
            write_real(*value.real());
        else if (value.text() != nullptr)
            write_text(*value.text());
        else if (value.dict() != nullptr)
            write_dict(*value.dict());
        else if (value.sequence() != nullptr && value.sequence()->kind <= Sequence::Kind::tuple)
            write_between('[', ']', value.sequence()->items, [&](const Value &each) { write(each); });
        else
            run_.fail("tojson: expected a value that JSON can express, found " + value.description());
    }

  private:
    void write_real(double value) {
        if (std::isfinite(value))
            text += text_of_real(value);
        else
            text += std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    }

    void write_dict(const Dict &dict) {
        std::vector<const Dict::Member *> members;
        for (const Dict::Member &each : dict.members) members.push_back(&each);
        if (style_.sorts_keys)
            std::ranges::sort(members, {}, [](const Dict::Member *each) -> const std::string & { return each->first; });
        write_between('{', '}', members, [&](const Dict::Member *each) {
            write_text(each->first);
            text += style_.key_separator;
            write(each->second);
        });
    }

    template <class Entries, class Write>
    void write_between(char begin, char end, const Entries &entries, const Write &write_entry) {
        text += begin;
        ++depth_;
        for (const auto &each : entries) {
            if (&each != entries.data()) text += style_.item_separator;
            new_line();
            write_entry(each);
        }
        --depth_;
        if (!entries.empty()) new_line();
        text += end;
    }

    void new_line() {
        if (!style_.indent) return;
        run_.spend(1 + depth_ * style_.indent->size());
        text += '\n';
        for (size_t i = 0; i < depth_; ++i) text += *style_.indent;
    }

    void write_text(const std::string &value) {
        constexpr std::string_view letters = "\"\\nrtbf", characters = "\"\\\n\r\t\b\f";
        text += '"';
        for (size_t at = 0; at < value.size();) {
            const auto [code, length] = character_at(value, at);
            const size_t known = code < 0x80 ? characters.find(static_cast<char>(code)) : std::string_view::npos;
            if (known != std::string_view::npos) {
                (text += '\\') += letters[known];
            } else if (code < 0x20 || (style_.ascii_only && code >= 0x7F)) {
                write_code(code);
            } else {
                text.append(value, at, length);
            }
            at += length;
        }
        text += '"';
    }

    void write_code(char32_t code) {
        if (code >= 0x10000) { // a surrogate pair
            write_code(0xD7C0 + (code >> 10));
            code = 0xDC00 + (code & 0x3FF);
        }
        text += "\\u";
        append_hex(text, code, 4);
    }

    Run &run_;
    const JsonStyle &style_;
    size_t depth_ = 0;
};

} // namespace

std::string json_of(Run &run, const Value &value, const JsonStyle &style) {
    run.spend(value.weight());
    JsonWriter writer(run, style);
    writer.write(value);
    return std::move(writer.text);
}

Value value_of_json(Run &run, const JsonView &view) {
    if (view.is_null()) return nullptr;
    if (view.is_string()) return run.text(std::string(view.string()));
    if (view.is_boolean()) return view.boolean();
    if (view.is_list()) {
        std::vector<Value> items;
        for (const JsonView each : view.items()) items.push_back(value_of_json(run, each));
        return run.list(std::move(items));
    }
    if (view.is_object()) {
        std::vector<Dict::Member> members;
        for (const JsonView each : view.members()) members.emplace_back(each.key(), value_of_json(run, each));
        return run.dict(std::move(members));
    }
    if (view.is_integer()) return view.integer(INT64_MIN, INT64_MAX);
    return view.number();
}

} // namespace lamina::jinja
