#include "base/wildcard.hpp"

#include "catch.hpp"

using lamina::matches;

TEST_CASE("wildcard: a name matches itself alone") {
    CHECK(matches("encoder.0", "encoder.0"));
    CHECK_FALSE(matches("encoder.0", "encoder.00"));
    CHECK_FALSE(matches("encoder.0", "encoder."));
    CHECK(matches("", ""));
    CHECK_FALSE(matches("", "a"));
}

TEST_CASE("wildcard: * is any characters, ? is one") {
    CHECK(matches("*", ""));
    CHECK(matches("*", "a.b"));
    CHECK(matches("encoder.*.norm", "encoder.11.norm"));
    CHECK_FALSE(matches("encoder.*.norm", "encoder.11.norm2"));
    CHECK(matches("*.0*", "a.1.0.b"));
    CHECK(matches("a*b*c**", "aXbbYc"));
    CHECK_FALSE(matches("a*b*c", "acb"));
    CHECK(matches("layer.?", "layer.7"));
    CHECK_FALSE(matches("layer.?", "layer."));
    CHECK_FALSE(matches("layer.?", "layer.77"));
}

TEST_CASE("wildcard: [...] is one of some characters, [!...] one of the others") {
    CHECK(matches("layer.[0-3]", "layer.2"));
    CHECK_FALSE(matches("layer.[0-3]", "layer.4"));
    CHECK(matches("[abx-z]", "b"));
    CHECK(matches("[!0-9]*", "a1"));
    CHECK_FALSE(matches("[!0-9]*", "1a"));
    CHECK(matches("[]a]", "]"));
    CHECK(matches("[a-]", "-"));
    CHECK(matches("*[0-9].*", "block.10.out"));
    CHECK(matches("a[b", "a[b")); // without its ]
    CHECK_FALSE(matches("a[b", "ab"));
}
