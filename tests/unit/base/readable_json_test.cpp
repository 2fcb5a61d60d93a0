#include "base/readable_json.hpp"

#include "catch.hpp"

#include <nlohmann/json.hpp>

using lamina::Json;
using lamina::readable_json;

TEST_CASE("readable_json: one member per line, in order of insertion") {
    CHECK(readable_json({{"z", 1}, {"a", {{"b", true}}}}) == "{\n  \"z\": 1,\n  \"a\": {\"b\": true}\n}\n");
}

TEST_CASE("readable_json: long values are broken into lines, except layers") {
    const std::string wide(120, 'w');
    const Json layer{{"name", wide}, {"inputs", {{"x", wide}}}};
    const Json value{{"layers", Json::array({layer, {{"repeat", 2}, {"layers", Json::array({layer})}}})}};
    const std::string line = R"({"name": ")" + wide + R"(", "inputs": {"x": ")" + wide + R"("}})";
    CHECK(readable_json(value) == "{\n  \"layers\": [\n    " + line + ",\n    {\"repeat\": 2, \"layers\": [\n      " +
                                      line + "\n    ]}\n  ]\n}\n");
}

TEST_CASE("readable_json: reads back as what was written") {
    const Json value{{"text", "\"\\\n\u20ac{}[],"},
                     {"list", Json::array({1, 2.5, nullptr, Json::object(), Json::array()})}};
    CHECK(nlohmann::json::parse(readable_json(value)) == nlohmann::json::parse(value.in_one_line()));
}
