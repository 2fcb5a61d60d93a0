#include "base/json.hpp"

#include "catch.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

using lamina::Json;

TEST_CASE("Json: members stay in the order in which they were added") {
    Json value{{"z", 1}, {"a", Json::array({true, nullptr, "text"})}};
    value["m"]["inner"] = std::vector<int64_t>{2, 3};
    value["z"] = -1;
    CHECK(value.in_one_line() == R"({"z":-1,"a":[true,null,"text"],"m":{"inner":[2,3]}})");
    CHECK(value.in_lines(2) == "{\n  \"z\": -1,\n  \"a\": [\n    true,\n    null,\n    \"text\"\n  ],\n"
                               "  \"m\": {\n    \"inner\": [\n      2,\n      3\n    ]\n  }\n}");
}

TEST_CASE("Json: empty objects and lists are on one line") {
    CHECK(Json().in_lines(2) == "null");
    CHECK(Json::array({Json::array(), Json::object()}).in_lines(1) == "[\n [],\n {}\n]");
}

TEST_CASE("Json: numbers read back as they were, and a real one keeps its point") {
    CHECK(Json(1.0).in_one_line() == "1.0");
    CHECK(Json(-0.0).in_one_line() == "-0.0");
    CHECK(Json(1e-5).in_one_line() == "1e-05");
    CHECK(Json(100000.0).in_one_line() == "100000.0");
    CHECK(Json(std::numeric_limits<uint64_t>::max()).in_one_line() == "18446744073709551615");
    CHECK(Json(std::nan("")).in_one_line() == "null");
    CHECK(Json(-std::numeric_limits<double>::infinity()).in_one_line() == "null");
    for (const double value : {0.1, -1.0 / 3, 1e-4, 9.99e-5, 123456789012345.6, 1e15, 1e300, 5e-324,
                               std::numeric_limits<double>::max(), static_cast<double>(0.1f)}) {
        const std::string text = Json(value).in_one_line();
        INFO(text);
        CHECK(nlohmann::json::parse(text).get<double>() == value);
        CHECK(nlohmann::json(value).dump() == text);
    }
}

TEST_CASE("Json: text is escaped, and reads back") {
    std::string text = "\"quoted\" \\ / \xE2\x82\xAC";
    for (char c = 0; c < 0x20; ++c) text += c;
    CHECK(nlohmann::json::parse(Json(text).in_one_line()) == text);
    CHECK(Json{{"a\n", 1}}.in_one_line() == R"({"a\n":1})");
}

TEST_CASE("Json: a copy is independent") {
    Json one{{"list", Json::array({1})}};
    Json other = one;
    other["list"].push_back(2);
    CHECK(one.in_one_line() == R"({"list":[1]})");
    one = other;
    CHECK(one.in_one_line() == R"({"list":[1,2]})");
}
