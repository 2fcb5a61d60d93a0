// The sizes of a contract's named dims.
#include "abi/dims.hpp"

#include "catch.hpp"

using namespace lamina;
using namespace lamina::abi;

namespace {

// A contract's names, some of whose sizes are known from elsewhere.
struct Names {
    Solver solver;
    Dims dims{solver};

    Names() = default;
    Names(std::initializer_list<std::pair<const char *, Size>> known) {
        for (const auto &[name, size] : known) dims.set(name, size);
    }
    void unify(std::string_view spec, const OpenShape &shape) { dims.unify(spec, shape); }
    std::string refusal(std::string_view spec, const OpenShape &shape) {
        return message_of([&] { unify(spec, shape); });
    }
    [[nodiscard]] std::optional<int64_t> number(std::string_view expression) const {
        return dims.evaluate(expression).value().number();
    }
    [[nodiscard]] std::string text(std::string_view expression) const {
        return solver.text(dims.evaluate(expression).value());
    }
};

} // namespace

TEST_CASE("an expression of names and numbers has the value of its arithmetic") {
    const Names names{{"heads", 8}, {"D", 64}, {"V", 10}, {"max_len", 5000}, {"T", 37}};
    CHECK(names.number("heads*D") == 512);
    CHECK(names.number("V/2") == 5);
    CHECK(names.number("max_len-T+1") == 4964);
    CHECK(names.number("2*V*D/4") == 320); // all products before all quotients, so nothing is rounded in between
    CHECK(names.number("T-max_len") == -4963);
    CHECK(names.number("7") == 7);
}

TEST_CASE("an expression with an unknown name has no value, which is not an error") {
    CHECK_FALSE(Names{{"heads", 8}}.dims.evaluate("heads*D").has_value());
}

TEST_CASE("a malformed expression is the plugin's fault") {
    const Names names{{"a", 1}, {"b", 1}};
    for (const char *text : {"", "a b", "a+", "*a", "a//b", "(a)", "a%2", "-1", "2a", "99999999999999999999"}) {
        INFO("expression '" << text << "'");
        CHECK_THROWS_AS(names.dims.evaluate(text), Error);
    }
}

TEST_CASE("an expression that is not a whole number, or too large, is refused with its place") {
    const auto refusal = [](const Names &names, const char *text) {
        return message_of([&] { (void)names.number(text); });
    };
    CHECK(refusal({{"a", 1}, {"b", 0}}, "a/b") == "'a/b' divides by zero");
    CHECK(refusal({{"a", 5}}, "a/2") == "'a/2' is not a whole number: 5 / 2");
    CHECK(refusal({{"a", int64_t{1} << 40}}, "a*a") == "'a*a' does not fit in 64 bits");
    CHECK(refusal({{"a", INT64_MAX}}, "a+1") == "'a+1' does not fit in 64 bits");
}

TEST_CASE("a shape gives the names of its axes their sizes") {
    Names names;
    names.unify("B T C", {2, 37, 113});
    CHECK(names.number("B") == 2);
    CHECK(names.number("T") == 37);
    CHECK(names.number("C") == 113);
}

TEST_CASE("an expression with one unknown name gives that name") {
    Names names{{"heads", 8}, {"C", 4}};
    names.unify("heads*D C*H/2 T+1 V-2", {512, 30, 7, 5});
    CHECK(names.number("D") == 64);
    CHECK(names.number("H") == 15);
    CHECK(names.number("T") == 6);
    CHECK(names.number("V") == 7);
}

TEST_CASE("a product with two unknown names waits for more to be known") {
    Names names;
    names.unify("heads*D", {512});
    CHECK_FALSE(names.number("heads").has_value());
    names.unify("D", {128});
    CHECK(names.number("heads") == 4);
}

TEST_CASE("a name has the same size everywhere") {
    Names names;
    names.unify("B T", {2, 37});
    CHECK(names.refusal("B S", {3, 9}) == "expected a shape of (B S) with B = 2, found (3, 9)");
}

TEST_CASE("a size that a product cannot have is refused") {
    CHECK(Names{{"heads", 8}}.refusal("heads*D", {500}) == "expected a size of heads*D, a multiple of 8, found 500");
}

TEST_CASE("the number of axes is checked") {
    Names names;
    CHECK_THROWS_AS(names.unify("B T C", {2, 3}), Error);
    CHECK_THROWS_AS(names.unify("B", {2, 3}), Error);
    CHECK_THROWS_AS(names.unify("... B T", {2}), Error);
}

TEST_CASE("... stands for any number of axes, the same ones everywhere") {
    for (const OpenShape &leading : {OpenShape{}, OpenShape{2}, OpenShape{2, 3}, OpenShape{2, 3, 4}}) {
        OpenShape shape = leading;
        shape.emplace_back(7);
        Names names;
        names.unify("... C", shape);
        CHECK(names.dims.leading() == leading);
        CHECK(names.dims.instantiate("... C 5").size() == leading.size() + 2);
    }
    Names names;
    names.unify("... C", {2, 3, 7});
    CHECK_THROWS_AS(names.unify("... C", {3, 2, 7}), Error);
    CHECK_THROWS_AS(names.unify("... C", {2, 7}), Error);
}

TEST_CASE("a shape is made from what is known, and an unknown name is the plugin's fault") {
    CHECK(Names{{"B", 2}, {"heads", 3}, {"D", 5}}.dims.instantiate("B heads*D 4") == OpenShape{2, 15, 4});
    try {
        (void)Names{{"B", 2}}.dims.instantiate("B Q");
        FAIL("nothing was thrown");
    } catch (const Error &e) {
        CHECK(e.code() == ErrorCode::plugin);
        CHECK_THAT(e.what(), matchers::contains("'Q'"));
    }
}

TEST_CASE("an open size is expressed in the dims' names") {
    Names names{{"heads", 8}};
    const Size c = names.solver.open("C"), t = names.solver.open("T"), rest = names.solver.open("N");
    SECTION("a name stands for it as it is") {
        names.unify("B K", {2, c});
        CHECK(names.text("K") == "C");
        CHECK(names.text("2*K+1") == "2*C+1");
        CHECK(names.text("K/2") == "C/2");
    }
    SECTION("a product makes it a multiple") {
        names.unify("heads*D", {c});
        CHECK(names.solver.text(c) == "8*D");
        CHECK(names.refusal("heads*D", {t + 1}).empty());
        CHECK(names.solver.text(t) == "8*D-1");
    }
    SECTION("a port that knows it settles it") {
        names.unify("... K", {t, c});
        names.unify("N K", {16, 32});
        CHECK(names.solver.resolve(c).number() == 32);
        CHECK(names.dims.instantiate("... N") == OpenShape{t, 16});
    }
    SECTION("axes of ... are one") {
        names.unify("... K", {t, 4, c});
        names.unify("... K", {7, rest, c});
        CHECK(names.solver.resolve(t).number() == 7);
        CHECK(names.solver.resolve(rest).number() == 4);
    }
    SECTION("a quotient by it waits") {
        names.unify("P Q", {12, c});
        const auto quotient = names.dims.evaluate("P/Q").value();
        CHECK_FALSE(names.solver.resolve(quotient).is_known());
        REQUIRE(names.solver.equate(c, 4));
        CHECK(names.solver.resolve(quotient).number() == 3);
    }
}

TEST_CASE("a contradiction is reported in the names of the sizes") {
    Names names{{"heads", 5}};
    const Size c = names.solver.open("C"), t = names.solver.open("T");
    names.unify("heads*D", {c});
    names.unify("T K", {t, c});
    CHECK(names.refusal("N K", {4, 33}) == "expected a shape of (N K) with N = 4, K = 5*D, found (4, 33)");
    CHECK(names.refusal("T+1", {t}) == "expected a shape of (T+1), found (T)");
}

TEST_CASE("names_in() returns each name once, in order, without numbers and \"...\"") {
    CHECK(names_in("... heads*D T 4 D+1") == std::vector<std::string>{"heads", "D", "T"});
    CHECK(names_in("...").empty());
}
