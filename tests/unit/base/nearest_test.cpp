#include "base/nearest.hpp"

#include "catch.hpp"

#include <map>
#include <set>

using lamina::did_you_mean;
using lamina::nearest;

TEST_CASE("nearest: a name that is one slip away is found") {
    const std::vector<std::string> names{"heads", "kv_heads", "causal", "scale"};
    CHECK(nearest("head", names) == "heads");    // dropped
    CHECK(nearest("headds", names) == "heads");  // added
    CHECK(nearest("haeds", names) == "heads");   // swapped
    CHECK(nearest("cousal", names) == "causal"); // changed
    CHECK(nearest("kvheads", names) == "kv_heads");
}

TEST_CASE("nearest: a name that is far from all is not guessed") {
    const std::vector<std::string> names{"heads", "causal"};
    CHECK_FALSE(nearest("temperature", names));
    CHECK_FALSE(nearest("", names));
    CHECK_FALSE(nearest("heads", {}));
    CHECK_FALSE(nearest(std::string(100000, 'h'), {std::string(100000, 'g')}));
}

TEST_CASE("nearest: the closest wins, and the first of equals") {
    CHECK(nearest("norm_2", {"norm_10", "norm_1", "norm_3"}) == "norm_1");
    CHECK(nearest("y", {"x", "z"}) == "x");
}

TEST_CASE("did_you_mean: a suffix for a message, or nothing") {
    CHECK(did_you_mean("xx", {"x"}) == "; did you mean 'x'?");
    CHECK(did_you_mean("xx", {"memory"}).empty());
}

TEST_CASE("names_of: keys of maps and elements of sets") {
    CHECK(lamina::names_of(std::map<std::string, int>{{"b", 1}, {"a", 2}}) == std::vector<std::string>{"a", "b"});
    CHECK(lamina::names_of(std::set<std::string>{"c"}) == std::vector<std::string>{"c"});
}

TEST_CASE("nearest: if no name is near, those that there are are listed, of many only the first") {
    CHECK(lamina::instead_of("heads", {}).empty());
    CHECK(lamina::instead_of("haeds", {"heads", "x"}) == "; did you mean 'heads'?");
    CHECK(lamina::instead_of("q", {"heads"}) == "; there is only heads");
    CHECK(lamina::instead_of("q", {"alpha", "beta", "gamma"}) == "; there are alpha, beta and gamma");
    std::vector<std::string> many;
    for (int i = 10; i < 35; ++i) many.push_back("name" + std::to_string(i));
    CHECK_THAT(lamina::instead_of("q", many),
               matchers::contains("name10, name11") && matchers::contains(" and 5 more"));
}
