// Chat templates, compared with jinja2 in the setup of transformers. oracle.py wrote the fixtures.
#include "catch.hpp"
#include "environment.hpp"
#include "places.hpp"

#include <lamina/chat_template.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <ctime>
#include <fstream>

using namespace lamina;

namespace {

using Json = nlohmann::ordered_json;

Json fixture(const std::string &name) {
    std::ifstream file(LAMINA_SOURCE_DIR "/tests/unit/template/" + name);
    return Json::parse(file);
}

std::string rendered(const std::string &text, const Json &variables) {
    constexpr std::time_t oracle_time = 1741503902; // 2025-03-09 07:05:02 UTC
    ChatOptions options;
    options.now = oracle_time;
    for (const auto &[name, value] : variables.items()) options.variables[name] = value.dump();
    return ChatTemplate::parse(text).render({}, options);
}

// If the oracle reports an error, this must be an error with a place.
void check(const std::string &text, const Json &variables, const Json &expected) {
    CAPTURE(text, variables.dump());
    try {
        const std::string found = rendered(text, variables);
        INFO(expected.dump());
        REQUIRE(expected.contains("text"));
        CHECK(found == expected["text"].get<std::string>());
    } catch (const Error &error) {
        INFO(error.what());
        CHECK(expected.contains("error"));
        CHECK(error.code() == ErrorCode::input);
        CHECK(std::string(error.what()).starts_with("chat template:"));
    }
}

void check_all(const std::string &name, size_t least) {
    test::set_variable("TZ", "UTC");
    tzset();
    const Json file = fixture(name);
    REQUIRE(file["cases"].size() >= least);
    for (const Json &each : file["cases"])
        check(file["templates"][each["template"].get<size_t>()], file["variables"][each["variables"].get<size_t>()],
              each);
}

} // namespace

TEST_CASE("templates like the published ones render as in jinja2") { check_all("families.json", 250); }

TEST_CASE("every construct renders as in jinja2") { check_all("constructs.json", 285); }

TEST_CASE("random expressions evaluate as in jinja2") { check_all("expressions.json", 400); }
