// Reads the text of a grammar or a regular expression, character by character.
#pragma once

#include "grammar/expression.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace lamina::grammar {

class Reader {
  public:
    // Throws Error(input) for a text that is not UTF-8. Messages begin with `name`; the text must outlive this.
    Reader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
        const size_t wrong = first_invalid_utf8(text);
        if (wrong != text.size()) fail_at(wrong, "expected UTF-8, found the byte " + printable(text.substr(wrong, 1)));
    }

    [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
    [[nodiscard]] char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    [[nodiscard]] bool is_next(std::string_view what) const { return text_.substr(at_).starts_with(what); }
    bool take(std::string_view what) {
        if (!is_next(what)) return false;
        at_ += what.size();
        return true;
    }
    void expect(std::string_view what) {
        if (!take(what)) fail("expected " + in_quotes(what));
    }
    char32_t character() {
        if (at_end()) fail("expected a character");
        const Character c = character_at(text_, at_);
        at_ += c.length;
        return c.code;
    }
    [[nodiscard]] size_t position() const { return at_; }
    void go_back(size_t position) { at_ = position; }
    [[nodiscard]] std::string_view since(size_t position) const { return text_.substr(position, at_ - position); }

    // A number in decimal notation, which must be there.
    uint32_t number(uint32_t most) {
        uint64_t out = 0;
        const size_t from = at_;
        for (; peek() >= '0' && peek() <= '9'; ++at_) {
            out = out * 10 + static_cast<uint64_t>(peek() - '0');
            if (out > most) fail_at(from, "expected at most " + std::to_string(most));
        }
        if (at_ == from) fail("expected a number");
        return static_cast<uint32_t>(out);
    }
    // A character by so many hexadecimal digits.
    char32_t hexadecimal(int digits) {
        const size_t from = at_;
        char32_t out = 0;
        for (int i = 0; i < digits; ++i) {
            const char c = peek();
            const bool digit = c >= '0' && c <= '9', low = c >= 'a' && c <= 'f', high = c >= 'A' && c <= 'F';
            if (!digit && !low && !high) fail("expected " + std::to_string(digits) + " hexadecimal digits");
            out = out * 16 + static_cast<char32_t>(digit ? c - '0' : (c | 0x20) - 'a' + 10);
            ++at_;
        }
        if (out > 0x10FFFF || (out >= 0xD800 && out <= 0xDFFF)) fail_at(from, "there is no such character");
        return out;
    }

    [[noreturn]] void fail(const std::string &what) const { fail_at(at_, what + ", found " + found()); }
    [[noreturn]] void fail_at(size_t position, const std::string &what) const {
        throw Error(ErrorCode::input, name_ + ": " + place_of(position) + ": " + what);
    }
    [[nodiscard]] std::string place_of(size_t position) const {
        const std::string_view before = text_.substr(0, position);
        const auto line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
        const size_t begin = before.rfind('\n') + 1; // 0 if there is none
        const size_t column = count_characters(before.substr(begin, first_invalid_utf8(before.substr(begin)))) + 1;
        return "line " + std::to_string(line) + ", column " + std::to_string(column);
    }

  private:
    [[nodiscard]] std::string found() const {
        return at_end() ? "the end" : in_quotes(text_.substr(at_, character_at(text_, at_).length));
    }

    std::string_view text_;
    std::string name_;
    size_t at_ = 0;
};

// How often something may be: no more, because each time takes memory.
inline constexpr uint32_t most_repetitions = 1 << 16;

// What may follow an expression: '*', '+', '?' or "{2,5}", which repeats it. Returns false if there is nothing of that.
[[nodiscard]] inline bool take_repetition(Reader &in, Expression &part) {
    if (in.take("*")) {
        part = repeat(std::move(part), 0);
    } else if (in.take("+")) {
        part = repeat(std::move(part), 1);
    } else if (in.take("?")) {
        part = optional(std::move(part));
    } else if (const size_t from = in.position(); in.take("{")) {
        const bool from_none = in.peek() == ',';
        const uint32_t least = from_none ? 0 : in.number(most_repetitions);
        uint32_t most = least;
        if (in.take(",")) most = in.peek() == '}' && !from_none ? any_number : in.number(most_repetitions);
        in.expect("}");
        if (most < least) in.fail_at(from, "expected the lower number first");
        part = repeat(std::move(part), least, most);
    } else {
        return false;
    }
    return true;
}

} // namespace lamina::grammar
