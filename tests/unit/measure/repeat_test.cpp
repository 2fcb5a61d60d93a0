#include "measure/repeat.hpp"

#include "catch.hpp"

#include <chrono>
#include <thread>

using namespace lamina;

TEST_CASE("the spread of values has their median and quartiles, in any order") {
    const Spread odd = spread_of({5, 1, 3, 2, 4});
    CHECK(odd.runs == 5);
    CHECK(odd.median == 3);
    CHECK(odd.low == 2);
    CHECK(odd.high == 4);
    CHECK(spread_of({1, 2, 3, 10}).median == 2.5); // an outlier moves the mean, not the median
    CHECK(spread_of({7}).low == 7);
    CHECK_THROWS_AS(spread_of({}), Error);
}

TEST_CASE("the first runs do not count; there are as few as three others, or one of a slow kernel") {
    const auto runs_of = [](double each, double seconds) {
        size_t runs = 0;
        const Spread spread = measure::repeat(seconds, [&] {
            std::this_thread::sleep_for(std::chrono::duration<double>(each));
            return ++runs <= 1 ? 1000.0 : 1.0;
        });
        CHECK(spread.high == 1);
        CHECK(spread.runs + 1 == runs);
        return spread.runs;
    };
    CHECK(runs_of(0.02, 0.01) == 3);
    CHECK(runs_of(0.02, 0.0005) == 1);
}

TEST_CASE("a short run is repeated until the time has passed") {
    CHECK(measure::repeat(0.05, [] { return 1.0; }).runs > 100);
}

TEST_CASE("the limit of a call is the longer of moving its bytes and doing its operations") {
    const Limits limits{.bytes_per_second = 10, .operations_per_second = 100, .memory = "", .product = ""};
    CHECK(limits.least_seconds({20, 100}) == 2);
    CHECK(limits.least_seconds({20, 1000}) == 10);
    CHECK(limits.least_seconds({20, 0}) == 2); // operations that are not declared
}
