// Parses a template into a syntax tree.
#pragma once

#include "template/lexer.hpp"
#include "template/syntax.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::jinja {

// Throws Error(input), with the place, for syntax that is wrong or not supported.
[[nodiscard]] Block parse_template(const Source &source);

// The tokens and the nesting depth, shared by the parsers of statements and expressions.
class TokenReader {
  public:
    explicit TokenReader(const Source &source) : source_(source), tokens_(tokens_of(source)) {}

    [[nodiscard]] const Token &next() const { return tokens_[at_]; }
    [[nodiscard]] const Token &after_next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    const Token &take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

    [[nodiscard]] bool is(Token::Kind kind) const { return next().kind == kind; }
    [[nodiscard]] bool is_symbol(std::string_view text) const { return is(Token::Kind::symbol) && next().text == text; }
    [[nodiscard]] bool is_name(std::string_view text) const { return is(Token::Kind::name) && next().text == text; }
    bool accept_symbol(std::string_view text) { return is_symbol(text) && (take(), true); }
    bool accept_name(std::string_view text) { return is_name(text) && (take(), true); }

    const Token &expect(Token::Kind kind, const std::string &what);
    void expect_symbol(std::string_view text);
    void expect_name(std::string_view text);
    [[noreturn]] void expected(const std::string &what) const; // "expected WHAT, found (the next token)"
    [[noreturn]] void fail(size_t place, const std::string &message) const { source_.fail(place, message); }

    // One level of nesting. Throws if it is too deep, because parsing and evaluation are recursive.
    class Level {
      public:
        explicit Level(TokenReader &reader);
        Level(const Level &) = delete;
        Level &operator=(const Level &) = delete;
        ~Level() { --reader_.depth_; }

      private:
        TokenReader &reader_;
    };

  private:
    const Source &source_;
    std::vector<Token> tokens_;
    size_t at_ = 0, depth_ = 0;
};

class ExpressionParser {
  public:
    explicit ExpressionParser(TokenReader &reader) : reader_(reader) {}

    ExpressionPtr expression();                     // including "b if a else c"
    ExpressionPtr condition();                      // excluding it
    ExpressionPtr tuple(bool conditional);          // one expression, or several separated by commas
    std::unique_ptr<FilterCall> filters_of_block(); // "trim | upper", to be applied to the text of a block
    ExpressionPtr postfix(ExpressionPtr of);

  private:
    ExpressionPtr level(size_t index);
    ExpressionPtr negation();
    ExpressionPtr comparison();
    ExpressionPtr concatenation();
    ExpressionPtr unary(bool with_filters);
    ExpressionPtr filters_and_tests(ExpressionPtr of);
    std::unique_ptr<FilterCall> filter(ExpressionPtr value);
    ExpressionPtr test(ExpressionPtr of);
    ExpressionPtr primary();
    ExpressionPtr constant();
    ExpressionPtr list();
    ExpressionPtr dict();
    ExpressionPtr subscript(ExpressionPtr of);
    ExpressionPtr call(ExpressionPtr of);
    CallArguments arguments();
    void argument(CallArguments &out);

    TokenReader &reader_;
};

} // namespace lamina::jinja
