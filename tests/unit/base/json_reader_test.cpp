#include "base/json_reader.hpp"
#include "catch.hpp"

#include <map>

using namespace lamina;
using matchers::contains;

namespace {
std::string refusal(const std::string &text) {
    return message_of([&] { const JsonText document(text, "f.json"); });
}
} // namespace

TEST_CASE("escapes become characters of one to four bytes") {
    const JsonText text(R"(["\n\"\\\/", "\u0041\u00e9\u4f60\ud83d\ude00", "plain"])", "file");
    auto item = text.root().items().begin();
    CHECK((*item).string() == "\n\"\\/");
    CHECK((*++item).string() == "Aé你😀");
    CHECK((*++item).string() == "plain");
}

TEST_CASE("how many values there are at most is known before they are read") {
    for (const auto &[text, values] : std::map<std::string, size_t>{{"7", 1},
                                                                    {"[1, [2], 3]", 5},
                                                                    {R"({"a": {"b": 1, "c": true}})", 4},
                                                                    {R"(["a,b[{", "\"", ",\",[\\", 1])", 5}}) {
        INFO(text);
        CHECK(JsonText::most_values(text) == values);
    }
    CHECK(JsonText::memory_for("[1, 1]") > JsonText::memory_for("[111]"));
}

TEST_CASE("values have a place and a description") {
    const JsonText text(R"({"a/b": [1, {"c": -2.5e1, "d": null, "e": true}]})", "file");
    const JsonView list = text.root().at("a/b");
    auto item = list.items().begin();
    CHECK((*item).integer(0, 5) == 1);
    const JsonView object = *++item;
    CHECK(object.at("c").number() == -25);
    CHECK_FALSE(object.has("d"));
    CHECK(object.at("e").boolean());
    CHECK(message_of([&] { (void)object.at("c").string(); }) == "file: /a~1b/1/c: expected a string, found -2.5e1");
    CHECK(message_of([&] { (void)object.at("x"); }) == "file: /a~1b/1: the key 'x' is missing");
    CHECK(message_of([&] { (void)list.boolean(); }) ==
          "file: /a~1b: expected true or false, found a list with 2 entries");
}

TEST_CASE("what is not JSON is refused with its line and column") {
    CHECK_THAT(refusal("{\n  \"a\": ,\n}"), contains("f.json: not JSON: parse error at line 2, column 8"));
    CHECK_THAT(refusal(""), contains("f.json: not JSON"));
    CHECK_THAT(refusal("{} {}"), contains("not JSON"));
    CHECK_THAT(refusal("[1e999]"), contains("not JSON: number overflow"));
    CHECK_THAT(refusal("[\"\\ud800\"]"), contains("not JSON"));
    CHECK_THAT(refusal("\"\xFF\""), contains("not JSON: invalid UTF-8 at offset 1"));
    CHECK_THAT(refusal(std::string("{}\0{", 4)), contains("not JSON: a zero byte at offset 2"));
}

TEST_CASE("a key that appears twice is refused, wherever it is") {
    CHECK_THAT(refusal(R"({"a": 1, "a": 1})"), contains("f.json: the key 'a' appears twice here"));
    CHECK_THAT(refusal(R"({"l": [0, {}, {"x": {"b": 1, "c": 2, "b": 3}}]})"),
               contains("f.json: /l/2/x: the key 'b' appears twice here"));
    CHECK(refusal(R"({"a": {"a": [{"a": 1}, {"a": 2}]}})").empty());
}

TEST_CASE("nesting is bounded") {
    const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(refusal(nested(64)).empty());
    CHECK_THAT(refusal(nested(65)), contains("nested more than 64 deep"));
    CHECK_THAT(refusal(std::string(1000000, '[')), contains("nested more than 64 deep"));
}

TEST_CASE("a wrong type is refused with its place and what was found") {
    const JsonText document(R"({"n": 2, "s": "text", "l": [1, 2.5], "a/b~": {"x": null}, "big": 18446744073709551615})",
                            "f.json");
    const auto root = document.root();
    CHECK_THAT(message_of([&] { (void)root.at("n").string(); }),
               Catch::Matchers::Equals("f.json: /n: expected a string, found 2"));
    CHECK_THAT(message_of([&] { (void)root.at("s").number(); }),
               Catch::Matchers::Equals("f.json: /s: expected a number, found 'text'"));
    CHECK_THAT(message_of([&] { (void)root.at("s").boolean(); }), contains("/s: expected true or false, found 'text'"));
    CHECK_THAT(message_of([&] { (void)root.at("l").members(); }),
               contains("/l: expected an object, found a list with 2 entries"));
    CHECK_THAT(message_of([&] { (void)root.items(); }),
               contains("f.json: expected a list, found an object with 5 entries"));
    CHECK_THAT(message_of([&] { (void)root.at("l").at(2); }),
               contains("/l: expected more than 2 entries, found a list with 2 entries"));
    CHECK_THAT(message_of([&] { (void)root.at("l").at(1).integer(0, 9); }),
               contains("/l/1: expected a whole number from 0 to 9, found 2.5"));
    CHECK_THAT(message_of([&] { (void)root.at("n").integer(3, 9); }), contains("found 2"));
    CHECK_THAT(message_of([&] { (void)root.at("big").integer(0, INT64_MAX); }), contains("found 18446744073709551615"));
    CHECK_THAT(message_of([&] { (void)root.at("a/b~").at("x").string(); }),
               contains("/a~1b~0/x: expected a string, found null"));
    CHECK_THAT(message_of([&] { (void)root.at("m"); }), Catch::Matchers::Equals("f.json: the key 'm' is missing"));
    CHECK(root.at("n").integer(2, 2) == 2);
}

TEST_CASE("an unknown key is refused with the nearest that is known") {
    const JsonText document(R"({"naem": "x"})", "f.json");
    CHECK_THAT(message_of([&] {
                   document.root().allow_keys({"type", "name"});
               }),
               Catch::Matchers::Equals("f.json: unknown key 'naem'; did you mean 'name'? (expected: type, name)"));
}
