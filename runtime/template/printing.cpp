#include "template/printing.hpp"

#include "template/arithmetic.hpp"
#include "template/characters.hpp"
#include "template/run.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

// Python's repr() of a string: in single quotes, unless it contains single quotes but no double quotes.
void append_quoted(std::string &out, const std::string &text) {
    const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
    constexpr std::string_view letters = "nrt", characters = "\n\r\t";
    out += quote;
    for (size_t at = 0; at < text.size();) {
        const auto [code, length] = character_at(text, at);
        const size_t known = code < 0x80 ? characters.find(static_cast<char>(code)) : std::string_view::npos;
        if (known != std::string_view::npos) {
            (out += '\\') += letters[known];
        } else if (code == '\\' || code == static_cast<unsigned char>(quote)) {
            (out += '\\') += static_cast<char>(code);
        } else if (is_printable(code)) {
            out.append(text, at, length);
        } else {
            const int digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
            (out += '\\') += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
            append_hex(out, code, digits);
        }
        at += length;
    }
    out += quote;
}

void append_python(Run &run, std::string &out, const Value &value);

void append_sequence(Run &run, std::string &out, const Sequence &sequence) {
    const bool is_tuple = sequence.kind == Sequence::Kind::tuple;
    if (!is_tuple && sequence.kind != Sequence::Kind::list) run.fail("this cannot be printed; use | list");
    out += is_tuple ? '(' : '[';
    for (const Value &each : sequence.items) {
        if (&each != sequence.items.data()) out += ", ";
        append_python(run, out, each);
    }
    if (is_tuple && sequence.items.size() == 1) out += ',';
    out += is_tuple ? ')' : ']';
}

void append_python(Run &run, std::string &out, const Value &value) {
    if (value.is_undefined())
        out += "Undefined";
    else if (value.is_none())
        out += "None";
    else if (value.boolean() != nullptr)
        out += *value.boolean() ? "True" : "False";
    else if (value.integer())
        out += std::to_string(*value.integer());
    else if (value.real() != nullptr)
        out += text_of_real(*value.real());
    else if (value.text() != nullptr)
        append_quoted(out, *value.text());
    else if (value.sequence() != nullptr)
        append_sequence(run, out, *value.sequence());
    else if (value.object() != nullptr)
        run.fail(std::string(value.object()->kind()) + " cannot be printed");
    else {
        out += '{';
        for (const Dict::Member &each : value.dict()->members) {
            if (&each != value.dict()->members.data()) out += ", ";
            append_quoted(out, each.first);
            out += ": ";
            append_python(run, out, each.second);
        }
        out += '}';
    }
}

} // namespace

std::string text_of(Run &run, const Value &value) {
    run.spend(value.weight());
    if (value.text() != nullptr) return *value.text();
    if (value.is_undefined()) return {};
    std::string out;
    append_python(run, out, value);
    return out;
}

void write_value(Run &run, const Value &value) {
    if (value.text() != nullptr)
        run.write(*value.text());
    else
        run.write(text_of(run, value));
}

} // namespace lamina::jinja
