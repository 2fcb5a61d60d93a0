// Equations between sizes that are known, open, or expressions over open ones.
#include "abi/solver.hpp"

#include "catch.hpp"

using namespace lamina;
using namespace lamina::abi;

namespace {

Size half(const Size &size) { return size * Size(Fraction{1, 2}); }

struct Unknowns {
    Solver solver;
    Size b = solver.open("B"), t = solver.open("T"), s = solver.open("S"), d = solver.open("D");

    [[nodiscard]] std::string text(const Size &size) const { return solver.text(size); }
    bool equate(const Size &x, const Size &y) { return solver.equate(x, y); }
};

} // namespace

TEST_CASE("sizes that are written differently may be equal") {
    const Unknowns u;
    CHECK(u.b * (u.t + 2) == u.t * u.b + 2 * u.b);
    CHECK(half(u.t) + half(u.t) == u.t);
    CHECK(u.t - u.t == Size(0));
    CHECK(Size(6) * Size(Fraction{1, 4}) == Size(Fraction{3, 2}));
}

TEST_CASE("number() returns a size that is known and whole") {
    const Unknowns u;
    CHECK(Size(7).number() == 7);
    CHECK_FALSE(u.t.number().has_value());
    CHECK_FALSE(Size(Fraction{7, 2}).number().has_value());
}

TEST_CASE("numbers are equal or contradict each other") {
    Solver solver;
    CHECK(solver.equate(8, 8));
    CHECK_FALSE(solver.equate(8, 9));
}

TEST_CASE("when an unknown becomes a number, so do expressions that contain it") {
    Unknowns u;
    REQUIRE(u.equate(u.t, u.s));
    REQUIRE(u.equate(u.d, 2 * u.s + 1));
    CHECK(u.text(u.d) == "2*T+1");
    REQUIRE(u.equate(u.s, 5));
    CHECK(u.solver.resolve(u.t).number() == 5);
    CHECK(u.solver.resolve(u.d).number() == 11);
    CHECK_FALSE(u.equate(u.d, 12));
}

TEST_CASE("of two equal unknowns the older one is kept") {
    Unknowns u;
    REQUIRE(u.equate(u.s, u.b));
    REQUIRE(u.equate(u.t, u.s));
    for (const Size &size : {u.b, u.s, u.t}) CHECK(u.text(size) == "B");
}

TEST_CASE("a product determines its open factor, a sum its open summand") {
    Unknowns u;
    REQUIRE(u.equate(5 * u.d, 160));
    CHECK(u.solver.resolve(u.d).number() == 32);
    REQUIRE(u.equate(u.t - 1, 8));
    CHECK(u.solver.resolve(u.t).number() == 9);
    REQUIRE(u.equate(half(u.s), 3));
    CHECK(u.solver.resolve(u.s).number() == 6);
}

TEST_CASE("a product of several unknowns waits until only one of them is open") {
    Unknowns u;
    REQUIRE(u.equate(u.t * u.d, 12));
    CHECK(u.text(u.t * u.d) == "T*D");
    REQUIRE(u.equate(u.b * u.t, u.d * u.s));
    SECTION("and gives that one") {
        REQUIRE(u.equate(u.d, 4));
        CHECK(u.solver.resolve(u.t).number() == 3);
        REQUIRE(u.equate(u.s, 6));
        CHECK(u.solver.resolve(u.b).number() == 8);
    }
    SECTION("or contradicts what is said later") {
        CHECK_FALSE(u.equate(u.d, 5));
        CHECK(u.text(u.d) == "D"); // nothing was learned from that
        CHECK(u.equate(u.d, 6));
    }
}

TEST_CASE("a multiple stays a multiple: solutions are always whole") {
    Unknowns u;
    REQUIRE(u.equate(u.b, 5 * u.d));
    CHECK(u.text(u.b) == "5*D");
    CHECK_FALSE(u.equate(u.b, 33));
    REQUIRE(u.equate(2 * u.t, 3 * u.s)); // neither is an integer multiple of the other
    CHECK_FALSE(u.equate(u.t, 4));
    REQUIRE(u.equate(u.t, 6));
    CHECK(u.solver.resolve(u.s).number() == 4);
}

TEST_CASE("an equation without a solution in whole numbers of at least 1 is a contradiction") {
    Unknowns u;
    CHECK_FALSE(u.equate(8 * u.d, 500));
    CHECK_FALSE(u.equate(2 * u.b * u.t, 4 * u.s + 1));
    CHECK_FALSE(u.equate(u.t + 1, 1));
    CHECK_FALSE(u.equate(u.t, u.t + 1));
    CHECK_FALSE(u.equate(u.t + u.s, -3));
    REQUIRE(u.equate(u.d, u.t - 5));
    CHECK_FALSE(u.equate(u.t, 5)); // D would be 0
    CHECK(u.equate(u.t, 6));
}

TEST_CASE("a contradiction changes neither solutions nor waiting equations") {
    Unknowns u;
    REQUIRE(u.equate(u.t * u.s, 35));
    REQUIRE(u.equate(u.d, u.b));
    CHECK_FALSE(u.equate(u.t, 6));
    CHECK(u.text(u.d) == "B");
    CHECK(u.equate(u.t, 5));
    CHECK(u.solver.resolve(u.s).number() == 7);
}

TEST_CASE("sizes read as they are written in dims") {
    Unknowns u;
    CHECK(u.text(0) == "0");
    CHECK(u.text(u.t + 1) == "T+1");
    CHECK(u.text(5001 - u.t) == "5001-T");
    CHECK(u.text(half(u.s)) == "S/2");
    CHECK(u.text(2 * u.b * u.t) == "2*B*T");
    CHECK(u.solver.text(OpenShape{u.b, u.t, 160}) == "(B, T, 160)");
    CHECK(u.text(u.solver.open("D")) == "D2"); // not the older D
}

TEST_CASE("arithmetic that does not fit in 64 bits is an error and changes nothing") {
    Unknowns u;
    const Size large = int64_t{1} << 40;
    CHECK_THROWS_AS(large * large, Overflow);
    CHECK_THROWS_AS(Size(INT64_MAX) + 1, Overflow);
    REQUIRE(u.equate(u.t, large * u.s));
    CHECK_THROWS_AS(u.equate(u.s, large), Overflow);
    CHECK(u.equate(u.s, 2));
}
