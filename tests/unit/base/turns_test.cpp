// Whose turn it is.
#include "catch.hpp"

#include "base/turns.hpp"

#include <map>
#include <string>

using namespace lamina;

namespace {

std::string order(Turns<char> &turns) {
    std::string out;
    while (!turns.empty()) out += turns.take();
    return out;
}

} // namespace

TEST_CASE("clients take turns, each with its own values in order") {
    Turns<char> turns;
    for (const char each : std::string("abcd")) turns.push_back({.client = 1}, each);
    turns.push_back({.client = 2}, 'A');
    turns.push_back({.client = 3}, 'x');
    turns.push_back({.client = 2}, 'B');
    CHECK(order(turns) == "aAxbBcd");
}

TEST_CASE("the requests of a client take turns, and together they are one client beside others") {
    Turns<char> turns;
    for (const char each : std::string("abc")) turns.push_back({1, 1}, each);
    for (const char each : std::string("ABC")) turns.push_back({1, 2}, each);
    turns.push_back({1, 3}, '+');
    for (const char each : std::string("xyz")) turns.push_back({2, 1}, each);
    CHECK(turns.take() == 'a');
    turns.push_back({1, 4}, '-'); // its client has had a turn, so that this one waits like the others
    CHECK(order(turns) == "xAy+zb-BcC");
}

TEST_CASE("who has least under way is next, and of several the one whose turn it is") {
    Turns<char> turns;
    std::map<uint64_t, size_t> busy{{1, 2}, {2, 1}, {3, 1}, {4, 1}};
    const auto take = [&] {
        return turns.take([&](const Owner &owner) { return std::pair(busy[owner.client], owner.request); });
    };
    for (const uint64_t client : {1, 2, 3}) turns.push_back({client}, static_cast<char>('0' + client));
    CHECK(take() == '2');
    turns.push_back({.client = 4, .request = 1}, '5');
    turns.push_back({.client = 4, .request = 0}, '4'); // less of this request than of the other
    busy[4] = 0;
    const Owner next = turns.next([&](const Owner &owner) { return std::pair(busy[owner.client], owner.request); });
    CHECK(next == Owner{.client = 4, .request = 0});
    CHECK(take() == '4');
    CHECK(take() == '5');
    CHECK(take() == '3');
    CHECK(take() == '1');
}

TEST_CASE("what is put back comes first, and what is removed never") {
    Turns<char> turns;
    turns.push_back({.client = 1}, 'b');
    turns.push_front({.client = 1}, 'a');
    turns.push_back({.client = 2}, 'x');
    turns.push_front({.client = 3}, '!');
    CHECK(turns.remove_if([](char each) { return each == 'x'; }));
    CHECK_FALSE(turns.remove_if([](char each) { return each == 'x'; }));
    CHECK(order(turns) == "!ab");
}
