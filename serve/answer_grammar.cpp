#include "answer_grammar.hpp"

#include "fields.hpp"
#include "grammar_text.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::serve {
namespace {

using Reader = Grammar (*)(std::string_view text, const std::string &name);

MakeGrammar reading(Reader read, std::string text, const JsonView &place) {
    return [=, text = std::move(text), name = in_request(place)] { return read(text, name); };
}

MakeGrammar of_schema(const JsonView &schema) { return reading(Grammar::json_schema, schema.written(), schema); }

MakeGrammar of_format(const JsonView &format) {
    const JsonView type = format.at("type");
    if (type.string() == "text") return nullptr;
    if (type.string() == "json_object") {
        expect_fields(format, "JsonFormat");
        return Grammar::json_object;
    }
    if (type.string() != "json_schema")
        type.fail("expected \"text\", \"json_object\" or \"json_schema\", found " + type.description());
    expect_fields(format, "JsonSchemaFormat");
    const JsonView how = format.at("json_schema");
    expect_fields(how, "JsonSchema");
    return how.has("schema") ? of_schema(how.at("schema")) : Grammar::json_object;
}

MakeGrammar of_structured_outputs(const JsonView &how) {
    expect_fields(how, "StructuredOutputs");
    std::vector<JsonView> given;
    for (const JsonView part : how.members())
        if (!part.is_null()) given.push_back(part);
    if (given.size() != 1) how.fail("expected one of json, regex, choice and grammar, found " + how.description());
    const JsonView &what = given.front();
    if (what.key() == "regex") return reading(Grammar::regex, std::string(what.string()), what);
    if (what.key() == "grammar") return reading(Grammar::gbnf, std::string(what.string()), what);
    if (what.key() == "json")
        return what.is_string() ? reading(Grammar::json_schema, std::string(what.string()), what) : of_schema(what);
    std::string rules;
    constexpr size_t most_choices = 10'000;
    const std::vector<std::string> choices = texts_of(what, most_choices);
    if (choices.empty()) what.fail("expected at least one text, found none");
    for (const std::string &text : choices) rules += (rules.empty() ? "root ::= " : " | ") + rule_text(text);
    return reading(Grammar::gbnf, std::move(rules), what);
}

} // namespace

MakeGrammar grammar_of(const JsonView &request) {
    MakeGrammar out;
    if (request.has("response_format")) out = of_format(request.at("response_format"));
    if (!request.has("structured_outputs")) return out;
    if (out) request.at("structured_outputs").fail("cannot be used with \"response_format\"");
    return of_structured_outputs(request.at("structured_outputs"));
}

} // namespace lamina::serve
