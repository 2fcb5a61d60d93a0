#include "template/lexer.hpp"

#include "base/utf8.hpp"
#include "template/characters.hpp"
#include "template/literals.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace lamina::jinja {
namespace {

bool is_digit_byte(char c) { return c >= '0' && c <= '9'; }
// Names may contain letters of any language.
bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit_byte(c) ||
           static_cast<unsigned char>(c) >= 0x80;
}

constexpr size_t longest_tag = 5000; // tokens; also bounds the depth of the syntax tree

class Lexer {
  public:
    explicit Lexer(const Source &source) : source_(source), text_(source.text()) {}

    std::vector<Token> run() {
        while (at_ < text_.size()) {
            const size_t tag = next_tag();
            if (tag == std::string_view::npos) {
                add(Token::Kind::text, at_, text_.substr(at_));
                at_ = text_.size();
            } else if (text_[tag + 1] == '#') {
                text_before(tag);
                skip_comment(tag);
            } else if (const auto content = end_of_mark(tag, "raw")) {
                text_before(tag);
                raw_text(tag, *content);
            } else {
                text_before(tag);
                inside_tag(tag);
            }
        }
        add(Token::Kind::end, at_, {});
        return std::move(tokens_);
    }

  private:
    void add(Token::Kind kind, size_t place, std::string_view text) {
        tokens_.push_back({kind, place, std::string(text)});
    }

    [[nodiscard]] bool has(std::string_view mark) const { return text_.substr(at_, mark.size()) == mark; }

    [[nodiscard]] size_t next_tag() const {
        for (size_t i = text_.find('{', at_); i != std::string_view::npos; i = text_.find('{', i + 1))
            if (i + 1 < text_.size() && (text_[i + 1] == '{' || text_[i + 1] == '%' || text_[i + 1] == '#')) return i;
        return std::string_view::npos;
    }

    [[nodiscard]] char sign_at(size_t at) const {
        return at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : '\0';
    }

    // Adds the text before a tag, without the white space that the tag removes, and skips the tag's opening characters.
    void text_before(size_t tag) {
        std::string_view text = text_.substr(at_, tag - at_);
        const char sign = sign_at(tag + 2);
        if (sign == '-') {
            text = strip(text, Side::right);
        } else if (sign == '\0' && text_[tag + 1] != '{') {
            const size_t line = text.rfind('\n') + 1; // npos + 1 is 0
            if ((line > 0 || line_starts_) && strip(text.substr(line), Side::left).empty()) text = text.substr(0, line);
        }
        if (!text.empty()) add(Token::Kind::text, at_, text);
        at_ = tag + 2 + (sign != '\0' ? 1 : 0);
    }

    // Skips the closing characters of a tag at `end`, and the white space that they remove.
    void behind(size_t end, bool trims_line) {
        size_t next = end;
        const char sign = sign_at(next);
        next += sign != '\0' ? 3 : 2;
        if (sign == '-')
            next = end_of_space(text_, next);
        else if (sign == '\0' && trims_line && next < text_.size() && text_[next] == '\n')
            ++next;
        line_starts_ = text_[next - 1] == '\n';
        at_ = next;
    }

    void skip_comment(size_t tag) {
        const size_t end = text_.find("#}", at_);
        if (end == std::string_view::npos) source_.fail(tag, "this comment has no end: expected #}");
        behind(end > at_ && sign_at(end - 1) != '\0' ? end - 1 : end, true);
    }

    // If there is {%- NAME -%} at `tag`, the offset of its closing characters.
    [[nodiscard]] std::optional<size_t> end_of_mark(size_t tag, std::string_view name) const {
        if (text_[tag + 1] != '%') return std::nullopt;
        size_t at = end_of_space(text_, tag + 2 + (sign_at(tag + 2) != '\0' ? 1 : 0));
        if (text_.substr(at, name.size()) != name) return std::nullopt;
        at = end_of_space(text_, at + name.size());
        const size_t end = at + (sign_at(at) != '\0' ? 1 : 0);
        return text_.substr(end, 2) == "%}" ? std::optional(at) : std::nullopt;
    }

    void raw_text(size_t tag, size_t end_of_begin) {
        behind(end_of_begin, false);
        for (size_t end = text_.find("{%", at_); end != std::string_view::npos; end = text_.find("{%", end + 1)) {
            if (const auto content = end_of_mark(end, "endraw")) {
                text_before(end);
                behind(*content, true);
                return;
            }
        }
        source_.fail(tag, "this raw text has no end: expected {% endraw %}");
    }

    // ---- Between {{ and }}, {% and %} ----
    void inside_tag(size_t tag) {
        const bool is_output = text_[tag + 1] == '{';
        const std::string_view end = is_output ? "}}" : "%}";
        add(is_output ? Token::Kind::output_begin : Token::Kind::tag_begin, tag, {});
        std::string open; // brackets
        const size_t most = tokens_.size() + longest_tag;
        for (;;) {
            at_ = end_of_space(text_, at_);
            if (at_ == text_.size()) source_.fail(tag, "this tag has no end: expected " + std::string(end));
            const bool is_signed = text_[at_] == '-' || (text_[at_] == '+' && !is_output);
            if (open.empty() && text_.substr(at_ + (is_signed ? 1 : 0), 2) == end) break;
            if (tokens_.size() == most)
                source_.fail(tag, "a tag of more than " + std::to_string(longest_tag) + " tokens");
            token(open);
        }
        add(is_output ? Token::Kind::output_end : Token::Kind::tag_end, at_, {});
        behind(at_, !is_output);
    }

    void token(std::string &open) {
        const char c = text_[at_];
        if (is_digit_byte(c))
            number();
        else if (is_name_byte(c))
            name();
        else if (c == '\'' || c == '"')
            string(c);
        else
            symbol(open);
    }

    void name() {
        const size_t begin = at_;
        while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
        add(Token::Kind::name, begin, text_.substr(begin, at_ - begin));
    }

    void number() {
        const bool may_be_real = at_ == 0 || text_[at_ - 1] != '.'; // row.0.1
        const NumberLiteral literal = number_at(text_, at_, may_be_real);
        add(literal.is_real ? Token::Kind::real : Token::Kind::integer, at_, text_.substr(at_, literal.length));
        at_ += literal.length;
    }

    void string(char quote) {
        const size_t begin = at_;
        for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_)
            if (text_[at_] == '\\') ++at_;
        if (at_ >= text_.size()) source_.fail(begin, std::string("this string has no end: expected ") + quote);
        ++at_;
        std::string value;
        if (const auto wrong = unescape(text_.substr(begin + 1, at_ - begin - 2), value)) source_.fail(begin, *wrong);
        add(Token::Kind::string, begin, value);
    }

    void symbol(std::string &open) {
        constexpr std::array<std::string_view, 26> symbols{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
        for (const std::string_view each : symbols) {
            if (!has(each)) continue;
            balance(each[0], open);
            add(Token::Kind::symbol, at_, each);
            at_ += each.size();
            return;
        }
        source_.fail(at_, "unexpected " + in_quotes(text_.substr(at_, 1)));
    }

    // Tracks brackets, because }} within brackets closes dicts and not the tag.
    void balance(char c, std::string &open) const {
        if (c == '{' || c == '(' || c == '[') open += c == '{' ? '}' : c == '(' ? ')' : ']';
        if (c != '}' && c != ')' && c != ']') return;
        if (open.empty() || open.back() != c)
            source_.fail(at_, std::string("unexpected '") + c + "'" +
                                  (open.empty() ? "" : std::string(", expected '") + open.back() + "'"));
        open.pop_back();
    }

    const Source &source_;
    std::string_view text_;
    size_t at_ = 0;
    bool line_starts_ = true; // at_ is at the start of a line, or after a line end that a tag removed
    std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> tokens_of(const Source &source) { return Lexer(source).run(); }

} // namespace lamina::jinja
