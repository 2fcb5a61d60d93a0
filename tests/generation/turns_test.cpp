// Whose turn it is.
#include "catch.hpp"

#include "generation/turns.hpp"

#include <map>
#include <string>

using lamina::generation::Turns;

namespace {

std::string order(Turns<char> &turns) {
    std::string out;
    while (!turns.empty()) out += turns.take([](uint64_t) { return 0; });
    return out;
}

} // namespace

TEST_CASE("owners take turns, each with its own values in order") {
    Turns<char> turns;
    for (const char each : std::string("abcd")) turns.push_back(1, each);
    turns.push_back(2, 'A');
    turns.push_back(3, 'x');
    turns.push_back(2, 'B');
    CHECK(order(turns) == "aAxbBcd");
}

TEST_CASE("who has least under way is next, and of several the one whose turn it is") {
    Turns<char> turns;
    std::map<uint64_t, int> busy{{1, 2}, {2, 1}, {3, 1}, {4, 1}};
    const auto take = [&] { return turns.take([&](uint64_t owner) { return busy[owner]; }); };
    for (const uint64_t owner : {1, 2, 3}) turns.push_back(owner, static_cast<char>('0' + owner));
    CHECK(take() == '2');
    turns.push_back(4, '4');
    busy[4] = 0;
    CHECK(take() == '4');
    CHECK(take() == '3');
    CHECK(take() == '1');
}

TEST_CASE("what is put back comes first, and what is removed never") {
    Turns<char> turns;
    turns.push_back(1, 'b');
    turns.push_front(1, 'a');
    turns.push_back(2, 'x');
    turns.push_front(3, '!');
    CHECK(turns.remove_if([](char each) { return each == 'x'; }));
    CHECK_FALSE(turns.remove_if([](char each) { return each == 'x'; }));
    CHECK(order(turns) == "!ab");
}
