#include "template/parser.hpp"

#include "base/utf8.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

using Kind = Token::Kind;

constexpr size_t deepest_nesting = 200; // tags within tags, brackets within brackets

std::string description_of(const Token &token) {
    switch (token.kind) {
    case Kind::output_end:
    case Kind::tag_end:
        return "the end of the tag";
    case Kind::end:
        return "the end of the template";
    case Kind::text:
        return "text";
    default:
        return in_quotes(token.text);
    }
}

class StatementParser {
  public:
    explicit StatementParser(const Source &source) : reader_(source), expressions_(reader_) {}

    Block whole_template() {
        Block out = block();
        if (!reader_.is(Kind::end)) // for example an endif without an if
            reader_.fail(reader_.next().place, in_quotes(reader_.next().text) + " without the tag that it belongs to");
        return out;
    }

  private:
    // Reads up to a tag that ends or divides a block, whose name is then the next token, or up to the end.
    Block block() {
        const TokenReader::Level nesting(reader_);
        Block out;
        while (!reader_.is(Kind::end)) {
            const size_t place = reader_.next().place;
            if (reader_.is(Kind::text)) {
                out.push_back(made<PlainText>(place, reader_.take().text));
            } else if (reader_.is(Kind::output_begin)) {
                reader_.take();
                out.push_back(made<Output>(place, expressions_.tuple(true)));
                reader_.expect(Kind::output_end, "}}");
            } else {
                reader_.expect(Kind::tag_begin, "a tag");
                if (ends_block()) break;
                out.push_back(tag());
            }
        }
        return out;
    }

    [[nodiscard]] bool ends_block() const {
        return reader_.is(Kind::name) &&
               (reader_.next().text.starts_with("end") || reader_.is_name("else") || reader_.is_name("elif"));
    }

    // Reads the body of a tag, and the name of the tag that ends it.
    Block body(const std::string &end) {
        Block out = body_before({end});
        reader_.expect_name(end);
        return out;
    }
    Block body_before(std::initializer_list<std::string_view> ends) {
        reader_.accept_symbol(":"); // as in Python
        end_of_tag();
        Block out = block();
        if (std::ranges::none_of(ends, [&](std::string_view end) { return reader_.is_name(end); }))
            reader_.expected("{% " + std::string(*(ends.end() - 1)) + " %}");
        return out;
    }
    void end_of_tag() { reader_.expect(Kind::tag_end, "%}"); }

    template <class Made, class... Parts> static std::unique_ptr<Made> made(size_t place, Parts &&...parts) {
        auto out = std::make_unique<Made>(std::forward<Parts>(parts)...);
        out->place = place;
        return out;
    }

    std::unique_ptr<Statement> tag() {
        struct Tag {
            const char *name;
            std::unique_ptr<Statement> (StatementParser::*read)(size_t place);
        };
        static constexpr Tag tags[] = {
            {"set", &StatementParser::set},
            {"if", &StatementParser::choice},
            {"for", &StatementParser::loop},
            {"break", &StatementParser::end_of_loop},
            {"continue", &StatementParser::next_round},
            {"macro", &StatementParser::macro},
            {"filter", &StatementParser::filter_block},
            {"generation", &StatementParser::generation},
        };
        const Token &name = reader_.expect(Kind::name, "the name of a tag");
        for (const Tag &each : tags) {
            if (name.text != each.name) continue;
            auto out = (this->*each.read)(name.place);
            end_of_tag();
            return out;
        }
        std::string names;
        for (const Tag &each : tags) names += std::string(names.empty() ? "" : ", ") + each.name;
        reader_.fail(name.place, "the tag " + in_quotes(name.text) + " is not supported; supported: " + names);
    }

    Target target() {
        Target out;
        const bool has_brackets = reader_.accept_symbol("(");
        out.names.push_back(reader_.expect(Kind::name, "a name").text);
        if (reader_.accept_symbol(".")) out.attribute = reader_.expect(Kind::name, "the name of an attribute").text;
        while (out.attribute.empty() && reader_.accept_symbol(",")) {
            out.is_tuple = true;
            if (!reader_.is(Kind::name) || reader_.is_name("in")) break;
            out.names.push_back(reader_.take().text);
        }
        if (has_brackets) reader_.expect_symbol(")");
        constexpr const char *constants[] = {"true", "false", "none", "True", "False", "None"};
        for (const std::string &name : out.names)
            if (std::ranges::find(constants, name) != std::end(constants)) reader_.expected("a name to assign to");
        return out;
    }

    std::unique_ptr<Statement> set(size_t place) {
        auto out = made<Set>(place);
        out->target = target();
        if (reader_.accept_symbol("=")) {
            out->value = expressions_.tuple(true);
            return out;
        }
        if (reader_.is_symbol("|")) out->filter = expressions_.filters_of_block();
        out->body = body("endset");
        return out;
    }

    std::unique_ptr<Statement> choice(size_t place) {
        auto out = made<If>(place);
        do {
            ExpressionPtr condition = expressions_.tuple(false);
            out->branches.emplace_back(std::move(condition), body_before({"elif", "else", "endif"}));
        } while (reader_.accept_name("elif"));
        if (reader_.accept_name("else"))
            out->otherwise = body("endif");
        else
            reader_.expect_name("endif");
        return out;
    }

    std::unique_ptr<Statement> loop(size_t place) {
        auto out = made<For>(place);
        out->target = target();
        reader_.expect_name("in");
        out->items = expressions_.tuple(false);
        if (reader_.accept_name("if")) out->condition = expressions_.expression();
        if (reader_.is_name("recursive")) reader_.fail(reader_.next().place, "recursive loops are not supported");
        ++loops_;
        out->body = body_before({"else", "endfor"});
        --loops_;
        if (reader_.accept_name("else"))
            out->otherwise = body("endfor");
        else
            reader_.expect_name("endfor");
        return out;
    }

    std::unique_ptr<Statement> end_of_loop(size_t place) { return jump(place, Flow::end_loop); }
    std::unique_ptr<Statement> next_round(size_t place) { return jump(place, Flow::next_round); }
    std::unique_ptr<Statement> jump(size_t place, Flow flow) {
        if (loops_ == 0) reader_.fail(place, "'break' and 'continue' are only allowed in a loop");
        return made<Jump>(place, flow);
    }

    void parameters(std::vector<Parameter> &out) {
        reader_.expect_symbol("(");
        while (!reader_.accept_symbol(")")) {
            if (!out.empty()) reader_.expect_symbol(",");
            Parameter &parameter = out.emplace_back(Parameter{reader_.expect(Kind::name, "a parameter").text, nullptr});
            if (reader_.accept_symbol("="))
                parameter.fallback = expressions_.expression();
            else if (out.size() > 1 && out[out.size() - 2].fallback != nullptr)
                reader_.expected("'=', because the parameter before it has a default value");
        }
    }

    // A macro cannot break out of the loops around it.
    Block macro_body(const char *end) {
        const size_t outer = std::exchange(loops_, 0);
        Block out = body(end);
        loops_ = outer;
        return out;
    }

    std::unique_ptr<Statement> macro(size_t place) {
        auto out = made<Macro>(place);
        out->definition.name = reader_.expect(Kind::name, "the name of the macro").text;
        parameters(out->definition.parameters);
        out->definition.body = macro_body("endmacro");
        return out;
    }

    std::unique_ptr<Statement> filter_block(size_t place) {
        auto out = made<FilterBlock>(place);
        out->filter = expressions_.filters_of_block();
        out->body = body("endfilter");
        return out;
    }

    std::unique_ptr<Statement> generation(size_t place) {
        auto out = made<Generation>(place);
        out->body = macro_body("endgeneration");
        return out;
    }

    TokenReader reader_;
    ExpressionParser expressions_;
    size_t loops_ = 0; // around the current place
};

} // namespace

const Token &TokenReader::expect(Token::Kind kind, const std::string &what) {
    if (!is(kind)) expected(what);
    return take();
}

void TokenReader::expect_symbol(std::string_view text) {
    if (!accept_symbol(text)) expected(in_quotes(text));
}

void TokenReader::expect_name(std::string_view text) {
    if (!accept_name(text)) expected(in_quotes(text));
}

void TokenReader::expected(const std::string &what) const {
    fail(next().place, "expected " + what + ", found " + description_of(next()));
}

TokenReader::Level::Level(TokenReader &reader) : reader_(reader) {
    if (reader.depth_ == deepest_nesting)
        reader.fail(reader.next().place, "nested more than " + std::to_string(deepest_nesting) + " deep");
    ++reader.depth_;
}

Block parse_template(const Source &source) { return StatementParser(source).whole_template(); }

} // namespace lamina::jinja
