#include "catch.hpp"

#include "generation/guesses.hpp"

#include <vector>

using lamina::generation::Guesses;

namespace {

using Tokens = std::vector<int32_t>;

Tokens guess(const Tokens &text, size_t count) { return lamina::generation::RepeatedTokens().guess(text, count); }

} // namespace

TEST_CASE("guesses: what followed the last tokens before, and most lately") {
    CHECK(guess({1, 2, 3, 4, 5, 1, 2, 3}, 2) == Tokens{4, 5});
    CHECK(guess({1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3}, 6) == Tokens{5, 1, 2, 3, 5, 1});
    CHECK(guess({7, 1, 2, 8, 9, 0, 1, 2}, 3) == Tokens{8, 9, 0});    // of the last two, as three did not occur
    CHECK(guess({1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3}, 1) == Tokens{4}); // three rather than two
    CHECK(guess({6, 6, 6, 6}, 3) == Tokens{6, 6, 6});
    CHECK(guess({1, 2, 3, 4}, 3).empty());
    CHECK(guess({1, 2}, 3).empty());
    CHECK(guess({}, 3).empty());
}

TEST_CASE("guesses: are made where they pay, and are tried again") {
    Guesses guesses;
    CHECK_FALSE(guesses.pay()); // it is not known how long a step takes
    for (int i = 0; i < 9; ++i) guesses.step(1);
    for (int i = 0; i < 9; ++i) {
        REQUIRE(guesses.pay());
        guesses.check(2, 3, 3);
    }
    for (int i = 0; i < 20 && guesses.pay(); ++i) guesses.check(2, 3, 1);
    size_t steps = 0;
    while (!guesses.pay()) ++steps;
    CHECK(steps > 30);
    CHECK(steps < 300);
}

TEST_CASE("guesses: are as many as were right, with the token before them a power of two") {
    Guesses guesses;
    CHECK(guesses.count(15) == 3);
    CHECK(guesses.count(2) == 2);
    guesses.check(1, 3, 4); // all were right
    CHECK(guesses.count(15) == 7);
    guesses.check(1, 7, 5); // most
    CHECK(guesses.count(15) == 7);
    guesses.check(1, 7, 3);
    CHECK(guesses.count(15) == 3);
    for (int i = 0; i < 9; ++i) guesses.check(1, 3, 1);
    CHECK(guesses.count(15) == 1);
    for (int i = 0; i < 9; ++i) guesses.check(1, 1, 2);
    CHECK(guesses.count(64) == 63);
}

TEST_CASE("guesses: the first check of each size says nothing of how long others take") {
    Guesses guesses;
    guesses.step(1);
    for (const size_t count : {3, 7, 15}) {
        guesses.check(100, count, count + 1); // makes a program
        CHECK(guesses.pay());
        guesses.check(2, count, count + 1);
        CHECK(guesses.pay());
    }
    for (int i = 0; i < 30; ++i) guesses.check(100, 15, 16);
    CHECK_FALSE(guesses.pay());
}
