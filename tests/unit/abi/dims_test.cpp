// The sizes behind a contract's names.
#include "abi/dims.hpp"

#include "catch.hpp"

using namespace lamina;
using namespace lamina::abi;

namespace {

Dims known(std::map<std::string, int64_t, std::less<>> values) { return {std::move(values), std::nullopt}; }

// What unification finds out; REQUIREs that nothing stays open.
Dims learnt(std::string_view spec, const Shape &shape, Dims dims = {}) {
    REQUIRE(unify(spec, shape, dims, "here"));
    return dims;
}

} // namespace

TEST_CASE("an expression of names and numbers has the value of its arithmetic") {
    const Dims dims = known({{"heads", 8}, {"D", 64}, {"V", 10}, {"max_len", 5000}, {"T", 37}});
    CHECK(evaluate("heads*D", dims) == 512);
    CHECK(evaluate("V/2", dims) == 5);
    CHECK(evaluate("max_len-T+1", dims) == 4964);
    CHECK(evaluate("2*V*D/4", dims) == 320); // all products before all quotients: no rounding between
    CHECK(evaluate("T-max_len", dims) == -4963);
    CHECK(evaluate("7", dims) == 7);
}

TEST_CASE("an expression with a name that is not known has no value, and is no error") {
    CHECK_FALSE(evaluate("heads*D", known({{"heads", 8}})).has_value());
}

TEST_CASE("an expression that no contract may hold is the plugin's fault") {
    for (const char *text : {"", "a b", "a+", "*a", "a//b", "(a)", "a%2", "-1"}) {
        INFO("expression '" << text << "'");
        CHECK_THROWS_AS(evaluate(text, known({{"a", 1}, {"b", 1}})), Error);
    }
    CHECK_THROWS_AS(evaluate("a/b", known({{"a", 1}, {"b", 0}})), Error);
    CHECK_THROWS_AS(evaluate("a/2", known({{"a", 5}})), Error);
    CHECK_THROWS_AS(evaluate("a*a", known({{"a", int64_t{1} << 40}})), Error);
}

TEST_CASE("a shape gives the names of its axes their sizes") {
    const Dims dims = learnt("B T C", {2, 37, 113});
    CHECK(dims.values == known({{"B", 2}, {"T", 37}, {"C", 113}}).values);
}

TEST_CASE("a product with one unknown name gives that name") {
    CHECK(learnt("heads*D", {512}, known({{"heads", 8}})).values.at("D") == 64);
    CHECK(learnt("C*H/2", {30}, known({{"C", 4}})).values.at("H") == 15);
}

TEST_CASE("a product with two unknown names waits for more to be known") {
    Dims dims;
    CHECK_FALSE(unify("heads*D", {512}, dims, "here"));
    CHECK(dims.values.empty());
    dims.values["D"] = 128;
    CHECK(unify("heads*D", {512}, dims, "here"));
    CHECK(dims.values.at("heads") == 4);
}

TEST_CASE("a name means one size wherever it stands") {
    Dims dims = learnt("B T", {2, 37});
    const std::string message = message_of([&] { (void)unify("B S", {3, 9}, dims, "input 'mask'"); });
    CHECK_THAT(message, matchers::contains("input 'mask'"));
    CHECK_THAT(message, matchers::contains("(B S)"));
    CHECK_THAT(message, matchers::contains("B = 2"));
    CHECK_THAT(message, matchers::contains("(3, 9)"));
}

TEST_CASE("a size that a product cannot have is refused") {
    Dims dims = known({{"heads", 8}});
    CHECK_THAT(message_of([&] { (void)unify("heads*D", {500}, dims, "here"); }), matchers::contains("a multiple of 8"));
}

TEST_CASE("the number of axes is checked") {
    Dims dims;
    CHECK_THROWS_AS(unify("B T C", {2, 3}, dims, "here"), Error);
    CHECK_THROWS_AS(unify("B", {2, 3}, dims, "here"), Error);
    CHECK_THROWS_AS(unify("... B T", {2}, dims, "here"), Error);
}

TEST_CASE("... stands for any number of axes, the same wherever it stands") {
    for (const Shape &leading : {Shape{}, Shape{2}, Shape{2, 3}, Shape{2, 3, 4}}) {
        Shape shape = leading;
        shape.push_back(7);
        const Dims dims = learnt("... C", shape);
        REQUIRE(dims.ellipsis.has_value());
        CHECK(*dims.ellipsis == leading);
        CHECK(instantiate("... C 5", dims, "here").size() == leading.size() + 2);
    }
    Dims dims = learnt("... C", {2, 3, 7});
    CHECK_THROWS_AS(unify("... C", {3, 2, 7}, dims, "here"), Error);
    CHECK_THROWS_AS(unify("... C", {2, 7}, dims, "here"), Error);
}

TEST_CASE("a shape is made from what is known, and an unknown name is the plugin's fault") {
    CHECK(instantiate("B heads*D 4", known({{"B", 2}, {"heads", 3}, {"D", 5}}), "here") == Shape{2, 15, 4});
    try {
        (void)instantiate("B Q", known({{"B", 2}}), "output 'y'");
        FAIL("nothing was thrown");
    } catch (const Error &e) {
        CHECK(e.code() == ErrorCode::plugin);
        CHECK_THAT(e.what(), matchers::contains("'Q'"));
    }
}

TEST_CASE("the names of a spec come once each, in order, without numbers and ...") {
    CHECK(names_in("... heads*D T 4 D+1") == std::vector<std::string>{"heads", "D", "T"});
    CHECK(names_in("...").empty());
}
