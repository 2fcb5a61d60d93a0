// Tokens of all lengths, by id and by text.
#include "tokenizer/vocabulary.hpp"

#include "catch.hpp"

#include <string>

using namespace lamina;
using tokenizer::Vocabulary;

TEST_CASE("a vocabulary finds each of its tokens, however long, and no other") {
    Vocabulary vocabulary;
    int32_t id = 3;
    for (const size_t length : {0, 1, 127, 128, 16383, 16384, 70000}) {
        vocabulary.add(std::string(length, 'a'), id);
        id += 2;
    }
    for (int32_t number = 0; number < 1000; ++number) vocabulary.add("token " + std::to_string(number), id + number);
    CHECK(vocabulary.size() == 1007);
    CHECK(vocabulary.end() == id + 1000);
    for (int32_t number = 0; number < 1000; ++number) {
        REQUIRE(vocabulary.id("token " + std::to_string(number)) == id + number);
        REQUIRE(vocabulary.token(id + number) == "token " + std::to_string(number));
        REQUIRE_FALSE(vocabulary.id("taken " + std::to_string(number)));
    }
    id = 3;
    for (const size_t length : {0, 1, 127, 128, 16383, 16384, 70000}) {
        CAPTURE(length);
        CHECK(vocabulary.id(std::string(length, 'a')) == id);
        CHECK(vocabulary.token(id) == std::string(length, 'a'));
        CHECK_FALSE(vocabulary.token(id - 1)); // a gap
        id += 2;
    }
}

TEST_CASE("a vocabulary refuses a token or an id that it has, and an id beyond any vocabulary") {
    Vocabulary vocabulary;
    vocabulary.add("a", 0);
    CHECK_THAT(message_of([&] { vocabulary.add("a", 1); }), matchers::contains("the token already has the id 0"));
    CHECK_THAT(message_of([&] { vocabulary.add("b", 0); }), matchers::contains("the id is already used by 'a'"));
    CHECK_THAT(message_of([&] { vocabulary.add("b", 1 << 26); }), matchers::contains("expected an id from 0 to "));
}
