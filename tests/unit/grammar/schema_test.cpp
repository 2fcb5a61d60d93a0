// JSON of schemas: schemas.json says which texts a JSON Schema validator accepts (oracle.py).
#include "catch.hpp"
#include "places.hpp"

#include <nlohmann/json.hpp>

#include <lamina/grammar.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using lamina::Error;
using lamina::Grammar;
using Json = nlohmann::ordered_json;

namespace {

std::string refusal(const std::string &schema) {
    try {
        (void)Grammar::json_schema(schema);
    } catch (const Error &e) {
        CHECK(e.code() == lamina::ErrorCode::input);
        return e.what();
    }
    return "not refused";
}

void check(const std::string &schema, const std::vector<std::string> &valid, const std::vector<std::string> &others) {
    INFO(schema);
    const Grammar grammar = Grammar::json_schema(schema);
    for (const std::string &text : valid) {
        INFO(text);
        CHECK(grammar.matches(text));
    }
    for (const std::string &text : others) {
        INFO(text);
        CHECK_FALSE(grammar.matches(text));
    }
}

} // namespace

TEST_CASE("schema: texts that a validator refuses are not matched, and most others are") {
    const std::filesystem::path fixtures = std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "unit" / "grammar";
    std::ifstream in(fixtures / "schemas.json");
    size_t valid = 0, matched = 0;
    for (const Json &entry : Json::parse(in)) {
        const std::string schema = entry["schema"].dump();
        INFO(schema);
        std::optional<Grammar> grammar;
        try {
            grammar = Grammar::json_schema(schema);
        } catch (const Error &e) { // by chance, a property that is required may have no value
            CHECK_THAT(std::string(e.what()), matchers::contains("there is no text that it matches"));
        }
        for (const Json &text : entry["texts"]) {
            INFO(text[0]);
            const bool matches = grammar && grammar->matches(text[0].get<std::string>());
            if (!text[1].get<bool>()) CHECK_FALSE(matches);
            valid += text[1].get<bool>() ? 1 : 0;
            matched += text[1].get<bool>() && matches ? 1 : 0;
        }
    }
    CHECK(valid > 500);
    CHECK(matched * 4 > valid * 3); // the others have properties that their schemas do not name
}

TEST_CASE("schema: blanks are where models write them") {
    const char *schema = R"({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}},
                             "b": {"type": "object", "properties": {"c": {"type": "null"}}}}})";
    check(schema,
          {R"({})", R"({"a":[],"b":{}})", R"({"a": [1, 2], "b": {"c": null}})", R"({ "a": [ 1 ] })",
           "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {\n    \"c\": null\n  }\n}"},
          {" {}", "{} ", R"({"a" :[]})", R"({"a":  []})", "{\n\n}", R"({"b":{},"a":[]})", R"({"a":[1,]})"});
}

TEST_CASE("schema: texts have lengths in characters, and formats") {
    check(R"({"type": "string", "minLength": 2, "maxLength": 3})", {R"("ab")", R"("é😀")", R"("\n\u00e9a")"},
          {R"("a")", R"("abcd")", R"("\ud83d\ude00")", "\"a\nb\"", R"("a"b")", R"(ab)"});
    check(R"({"type": "string", "format": "date"})", {R"("2024-01-31")", R"("1999-02-28")"},
          {R"("2024-02-30")", R"("2024-04-31")", R"("2024-13-01")", R"("24-01-01")"});
    check(R"({"type": "string", "format": "date-time"})",
          {R"("2024-01-31T23:59:59Z")", R"("2024-01-31T00:00:00.5+02:00")"},
          {R"("2024-01-31 00:00:00Z")", R"("2024-01-31T24:00:00Z")", R"("2024-01-31")"});
    check(R"({"type": "string", "format": "ipv4"})", {R"("127.0.0.1")"},
          {R"("256.0.0.1")", R"("1.2.3")", R"("01.2.3.4")"});
    check(R"({"type": "string", "format": "uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"});
    check(R"({"type": "string", "format": "of the house"})", {R"("anything")"}, {});
    check(R"({"type": "string", "pattern": "^\"[a\\\\\\n]\"$"})", {R"("\"a\"")", R"("\"\\\"")", R"("\"\n\"")"},
          {R"(""a"")", R"("\"b\"")"});
}

TEST_CASE("schema: numbers between bounds are those that lie there") {
    const std::vector<std::string> numbers{"-100", "-12.5", "-10",  "-2",   "-1.25", "-1.2", "-1",     "-0.5", "-0.05",
                                           "0",    "0.05",  "0.5",  "0.95", "1",     "1.1",  "1.2",    "1.23", "1.234",
                                           "1.25", "1.3",   "1.99", "2",    "9",     "9.99", "10",     "11",   "12.5",
                                           "19",   "99",    "99.5", "100",  "101",   "999",  "1000.25"};
    const auto value = [](const std::string &text) { return std::stod(text); };
    size_t inside = 0;
    for (const std::string &low : numbers)
        for (const std::string &high : numbers) {
            if (value(high) < value(low)) continue;
            for (const bool closed : {true, false}) {
                const std::string bounds = closed
                                               ? R"("minimum": )" + low + R"(, "maximum": )" + high
                                               : R"("exclusiveMinimum": )" + low + R"(, "exclusiveMaximum": )" + high;
                const auto holds = [&](const std::string &text) {
                    const double v = value(text);
                    return closed ? value(low) <= v && v <= value(high) : value(low) < v && v < value(high);
                };
                for (const char *type : {"number", "integer"}) {
                    INFO(type << " " << bounds);
                    std::optional<Grammar> grammar;
                    try {
                        grammar = Grammar::json_schema(std::string(R"({"type": ")") + type + "\", " + bounds + "}");
                    } catch (const Error &) { // there is no such number
                    }
                    std::vector<std::string> wrong;
                    for (const std::string &text : numbers) {
                        const bool whole = text.find('.') == std::string::npos;
                        const bool expected = holds(text) && (whole || std::string(type) == "number");
                        if ((grammar && grammar->matches(text)) != expected) wrong.push_back(text);
                        inside += expected ? 1 : 0;
                    }
                    CHECK(wrong == std::vector<std::string>());
                }
            }
        }
    CHECK(inside > 1000);
}

TEST_CASE("schema: what a grammar cannot hold is refused by its keyword") {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {R"({"not": {"type": "string"}})", "JSON schema: /not: this keyword is not supported"},
        {R"({"properties": {"a": {"multipleOf": 3}}})", "/properties/a/multipleOf: this keyword is not supported"},
        {R"({"type": "array", "uniqueItems": true})", "/uniqueItems: this keyword is not supported"},
        {R"({"type": "text"})", "/type: expected null, boolean, integer, number, string, array or object"},
        {R"({"$ref": "#/$defs/x"})", "/$ref: there is no such place in the schema"},
        {R"({"$ref": "https://example.com/x.json"})", "only places in the schema itself are supported"},
        {R"({"$ref": "#"})", "refers to itself without an end"},
        {R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})", "a value may be of its schemas 0 and 1 both"},
        {R"j({"type": "string", "pattern": "(?=a)"})j", "/pattern: line 1, column 3: "},
        {R"({"type": "string", "pattern": "a", "maxLength": 3})", "beside \"minLength\" or \"maxLength\""},
        {R"({"type": "string", "maxLength": 100000})", "/maxLength: expected a whole number from 0 to 65536"},
        {R"({"type": "number", "maximum": 1e300})", "/maximum: expected at most 1e15"},
        {R"({"enum": ["a"], "minLength": 2})", "beside \"const\" and \"enum\", this keyword is not supported"},
        {R"({"type": "object", "minProperties": 2})", "is supported where the properties are named alone"},
        {R"({"items": [{}]})", "/items: expected one schema, found a list"},
        {R"({"properties": {"a": 1}})", "/properties/a: expected a schema, an object or a boolean"},
        {R"({"type": "integer", "minimum": 1, "maximum": 0})", "there is no text that it matches"},
        {R"({"type": "object")", "JSON schema"},
        {"[]", "expected a schema, an object or a boolean, found a list with 0 entries"},
        {"false", "there is no text that it matches"},
    };
    for (const auto &[schema, why] : wrong) {
        INFO(schema);
        CHECK_THAT(refusal(schema), matchers::contains(why));
    }
}
