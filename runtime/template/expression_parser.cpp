#include "template/parser.hpp"

#include "base/utf8.hpp"
#include "template/literals.hpp"

#include <algorithm>
#include <array>

namespace lamina::jinja {
namespace {

using Kind = Token::Kind;

template <class Made> std::unique_ptr<Made> at_place(size_t place, std::unique_ptr<Made> made) {
    made->place = place;
    return made;
}

// The left-associative operators, in order of increasing precedence. level() inserts the other operators between them.
struct Operators {
    bool are_names;
    std::array<std::string_view, 4> symbols;
};
constexpr std::array<Operators, 4> levels{
    {{true, {"or"}}, {true, {"and"}}, {false, {"+", "-"}}, {false, {"*", "/", "//", "%"}}}};
constexpr size_t level_of_and = 1, level_of_sum = 2, level_of_product = 3;

} // namespace

ExpressionPtr ExpressionParser::expression() {
    const TokenReader::Level nesting(reader_);
    ExpressionPtr out = condition();
    while (reader_.is_name("if")) {
        auto choice = at_place(reader_.take().place, std::make_unique<Conditional>());
        choice->yes = std::move(out);
        choice->condition = condition();
        if (reader_.accept_name("else")) choice->no = expression();
        out = std::move(choice);
    }
    return out;
}

ExpressionPtr ExpressionParser::condition() { return level(0); }

ExpressionPtr ExpressionParser::tuple(bool conditional) {
    const auto one = [&] { return conditional ? expression() : condition(); };
    const size_t place = reader_.next().place;
    ExpressionPtr first = one();
    if (!reader_.is_symbol(",")) return first;
    auto out = at_place(place, std::make_unique<SequenceLiteral>(Sequence::Kind::tuple));
    out->items.push_back(std::move(first));
    while (reader_.accept_symbol(",")) {
        if (reader_.is_symbol(")") || reader_.is(Kind::output_end) || reader_.is(Kind::tag_end)) break;
        out->items.push_back(one());
    }
    return out;
}

ExpressionPtr ExpressionParser::level(size_t index) {
    const auto operand = [&] {
        return index == level_of_and       ? negation()
               : index == level_of_sum     ? concatenation()
               : index == level_of_product ? unary(true)
                                           : level(index + 1);
    };
    const auto &[are_names, symbols] = levels[index];
    ExpressionPtr out = operand();
    while (reader_.is(are_names ? Kind::name : Kind::symbol) &&
           std::ranges::find(symbols, reader_.next().text) != symbols.end()) {
        const Token &symbol = reader_.take();
        ExpressionPtr right = operand();
        if (are_names)
            out =
                at_place(symbol.place, std::make_unique<Logic>(symbol.text == "and", std::move(out), std::move(right)));
        else
            out = at_place(symbol.place, std::make_unique<Arithmetic>(symbol.text, std::move(out), std::move(right)));
    }
    return out;
}

ExpressionPtr ExpressionParser::negation() {
    if (!reader_.is_name("not")) return comparison();
    const TokenReader::Level nesting(reader_);
    const size_t place = reader_.take().place;
    return at_place(place, std::make_unique<Not>(negation()));
}

ExpressionPtr ExpressionParser::comparison() {
    constexpr std::array<std::string_view, 6> symbols{"==", "!=", "<", "<=", ">", ">="};
    auto out = at_place(reader_.next().place, std::make_unique<Comparison>());
    out->first = level(level_of_sum);
    for (;;) {
        std::string symbol = reader_.next().text;
        if (reader_.is_name("not") && reader_.after_next().kind == Kind::name && reader_.after_next().text == "in") {
            reader_.take();
            symbol = "not in";
        } else if (!reader_.is_name("in") &&
                   !(reader_.is(Kind::symbol) && std::ranges::find(symbols, symbol) != symbols.end())) {
            break;
        }
        out->place = reader_.take().place;
        out->rest.emplace_back(symbol, level(level_of_sum));
    }
    return out->rest.empty() ? std::move(out->first) : std::move(out);
}

ExpressionPtr ExpressionParser::concatenation() {
    auto out = at_place(reader_.next().place, std::make_unique<Concatenation>());
    do out->parts.push_back(level(level_of_product));
    while (reader_.accept_symbol("~"));
    return out->parts.size() == 1 ? std::move(out->parts.front()) : std::move(out);
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
    ExpressionPtr out;
    if (reader_.is_symbol("-") || reader_.is_symbol("+")) {
        const TokenReader::Level nesting(reader_);
        const Token &sign = reader_.take();
        out = at_place(sign.place, std::make_unique<Arithmetic>(sign.text, nullptr, unary(false)));
    } else {
        out = primary();
    }
    out = postfix(std::move(out));
    return with_filters ? filters_and_tests(std::move(out)) : std::move(out);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr of) {
    for (;;) {
        if (reader_.is_symbol("["))
            of = subscript(std::move(of));
        else if (reader_.is_symbol("("))
            of = call(std::move(of));
        else if (!reader_.is_symbol("."))
            return of;
        else if (const size_t place = reader_.take().place; reader_.is(Kind::integer)) { // row.0 means row[0]
            auto out = at_place(place, std::make_unique<Subscript>());
            out->object = std::move(of);
            out->index = constant();
            of = std::move(out);
        } else {
            const std::string &name = reader_.expect(Kind::name, "the name of an attribute").text;
            of = at_place(place, std::make_unique<Attribute>(std::move(of), name));
        }
    }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr of) {
    for (;;) {
        if (reader_.is_symbol("|"))
            of = filter(std::move(of));
        else if (reader_.is_name("is"))
            of = test(std::move(of));
        else if (reader_.is_symbol("("))
            of = call(std::move(of));
        else
            return of;
    }
}

std::unique_ptr<FilterCall> ExpressionParser::filter(ExpressionPtr value) {
    reader_.accept_symbol("|");
    const Token &name = reader_.expect(Kind::name, "the name of a filter");
    auto out = at_place(name.place, std::make_unique<FilterCall>());
    out->value = std::move(value);
    out->name = name.text;
    if (reader_.is_symbol("(")) out->arguments = arguments();
    return out;
}

std::unique_ptr<FilterCall> ExpressionParser::filters_of_block() {
    std::unique_ptr<FilterCall> out = filter(nullptr);
    while (reader_.is_symbol("|")) out = filter(std::move(out));
    return out;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr of) {
    reader_.expect_name("is");
    const size_t place = reader_.next().place;
    const bool negated = reader_.accept_name("not");
    const Token &name = reader_.expect(Kind::name, "the name of a test");
    auto out = at_place(name.place, std::make_unique<TestCall>());
    out->value = std::move(of);
    out->name = name.text;
    // One argument needs no parentheses: "is divisibleby 3".
    const bool is_word =
        reader_.is(Kind::name) && !reader_.is_name("else") && !reader_.is_name("or") && !reader_.is_name("and");
    if (reader_.is_symbol("("))
        out->arguments = arguments();
    else if (reader_.is_name("is"))
        reader_.expected("no second test; use 'and'");
    else if (is_word || reader_.is(Kind::string) || reader_.is(Kind::integer) || reader_.is(Kind::real) ||
             reader_.is_symbol("[") || reader_.is_symbol("{"))
        out->arguments.positional.push_back(postfix(primary()));
    if (!negated) return out;
    return at_place(place, std::make_unique<Not>(std::move(out)));
}

ExpressionPtr ExpressionParser::primary() {
    const TokenReader::Level nesting(reader_);
    if (reader_.is_symbol("[")) return list();
    if (reader_.is_symbol("{")) return dict();
    if (!reader_.accept_symbol("(")) return constant();
    if (reader_.accept_symbol(")")) return std::make_unique<SequenceLiteral>(Sequence::Kind::tuple);
    ExpressionPtr out = tuple(true);
    reader_.expect_symbol(")");
    return out;
}

ExpressionPtr ExpressionParser::constant() {
    const Token &token = reader_.next();
    const auto make = [&](Value value) {
        reader_.take();
        return at_place(token.place, std::make_unique<Constant>(std::move(value)));
    };
    switch (token.kind) {
    case Kind::name:
        if (token.text == "true" || token.text == "True") return make(true);
        if (token.text == "false" || token.text == "False") return make(false);
        if (token.text == "none" || token.text == "None") return make(nullptr);
        reader_.take();
        return at_place(token.place, std::make_unique<Name>(token.text));
    case Kind::string: { // 'a' 'b' is one string
        std::string text;
        while (reader_.is(Kind::string)) text += reader_.take().text;
        return at_place(token.place, std::make_unique<Constant>(std::make_shared<const std::string>(std::move(text))));
    }
    case Kind::integer:
        if (const auto value = integer_of(token.text)) return make(*value);
        reader_.fail(token.place, "this number does not fit in 64 bits");
    case Kind::real:
        return make(real_of(token.text));
    default:
        reader_.expected("a value");
    }
}

ExpressionPtr ExpressionParser::list() {
    auto out = at_place(reader_.take().place, std::make_unique<SequenceLiteral>(Sequence::Kind::list));
    while (!reader_.accept_symbol("]")) {
        if (!out->items.empty()) reader_.expect_symbol(",");
        if (reader_.accept_symbol("]")) break;
        out->items.push_back(expression());
    }
    return out;
}

ExpressionPtr ExpressionParser::dict() {
    auto out = at_place(reader_.take().place, std::make_unique<DictLiteral>());
    while (!reader_.accept_symbol("}")) {
        if (!out->members.empty()) reader_.expect_symbol(",");
        if (reader_.accept_symbol("}")) break;
        ExpressionPtr key = expression();
        reader_.expect_symbol(":");
        out->members.emplace_back(std::move(key), expression());
    }
    return out;
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr of) {
    const size_t place = reader_.take().place;
    const auto is_bound = [&] { return !reader_.is_symbol(":") && !reader_.is_symbol("]"); };
    ExpressionPtr begin, end, step;
    if (is_bound()) begin = expression();
    if (begin != nullptr && reader_.accept_symbol("]")) {
        auto out = at_place(place, std::make_unique<Subscript>());
        out->object = std::move(of);
        out->index = std::move(begin);
        return out;
    }
    reader_.expect_symbol(":");
    if (is_bound()) end = expression();
    if (reader_.accept_symbol(":") && is_bound()) step = expression();
    reader_.expect_symbol("]");
    auto out = at_place(place, std::make_unique<Slice>());
    out->object = std::move(of);
    out->begin = std::move(begin);
    out->end = std::move(end);
    out->step = std::move(step);
    return out;
}

ExpressionPtr ExpressionParser::call(ExpressionPtr of) {
    auto out = at_place(reader_.next().place, std::make_unique<Call>());
    out->callee = std::move(of);
    out->arguments = arguments();
    return out;
}

CallArguments ExpressionParser::arguments() {
    reader_.expect_symbol("(");
    CallArguments out;
    for (bool is_first = true; !reader_.accept_symbol(")"); is_first = false) {
        if (!is_first) reader_.expect_symbol(",");
        if (reader_.accept_symbol(")")) break;
        if (out.more_named != nullptr) reader_.expected("')': nothing follows **");
        argument(out);
    }
    return out;
}

void ExpressionParser::argument(CallArguments &out) {
    const auto is_named = [&] {
        return reader_.is(Kind::name) && reader_.after_next().kind == Kind::symbol && reader_.after_next().text == "=";
    };
    if (reader_.accept_symbol("**")) {
        out.more_named = expression();
    } else if (out.more_positional == nullptr && reader_.accept_symbol("*")) {
        out.more_positional = expression();
    } else if (is_named()) {
        const Token &name = reader_.take();
        reader_.expect_symbol("=");
        for (const auto &each : out.named)
            if (each.first == name.text) reader_.fail(name.place, "this argument is passed twice");
        out.named.emplace_back(name.text, expression());
    } else if (!out.named.empty() || out.more_positional != nullptr) {
        reader_.expected("a named argument: NAME=VALUE");
    } else {
        out.positional.push_back(expression());
    }
}

} // namespace lamina::jinja
