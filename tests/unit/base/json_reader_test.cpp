#include "base/json_reader.hpp"
#include "catch.hpp"

using namespace lamina;

TEST_CASE("escapes become characters of one to four bytes") {
    const JsonText text(R"(["\n\"\\\/", "\u0041\u00e9\u4f60\ud83d\ude00", "plain"])", "file");
    auto item = text.root().items().begin();
    CHECK((*item).string() == "\n\"\\/");
    CHECK((*++item).string() == "Aé你😀");
    CHECK((*++item).string() == "plain");
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
