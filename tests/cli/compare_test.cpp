#include "catch.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

using nlohmann::json;

TEST_CASE("compare: every layer of both graphs on the CPU's fast kernels agrees with the references") {
    const Finished f = run_lamina({"compare", g2p(), "vulkan", "--device", "cpu", "--json"});
    REQUIRE(f.status == 0);
    const json comparison = json::parse(f.out);
    CHECK(comparison["agrees"] == true);
    CHECK(comparison["device"]["id"] == "cpu");
    CHECK_THAT(comparison["summary"].get<std::string>(), matchers::contains("agree with the reference"));
    REQUIRE(comparison["layers"].size() == 96);
    for (const json &layer : comparison["layers"]) {
        INFO(layer["layer"]);
        CHECK(layer["own"]["passed"] == true);
        CHECK(layer["own"]["ratio"].get<double>() <= 1);
    }
}

TEST_CASE("compare: the table has a line a layer and a closing line") {
    const Finished f = run_lamina({"compare", g2p(), "a", "--device", "cpu"});
    REQUIRE(f.status == 0);
    const auto lines = lines_of(f.out);
    REQUIRE(lines.size() == 99); // head, 96 layers, an empty line, the summary
    CHECK_THAT(lines[1], matchers::contains("encoder.embedding"));
    CHECK_THAT(lines.back(), matchers::contains("all 96 layers on cpu"));
}

TEST_CASE("compare: repeating says how likely a rare fault would have been missed") {
    const Finished f = run_lamina({"compare", g2p(), "a", "--device", "cpu", "--repeat", "6"});
    REQUIRE(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("ran 6 times") && matchers::contains("1 of 2 runs"));
}

TEST_CASE("compare: invalid arguments are refused") {
    const auto refused = [](const std::vector<std::string> &arguments, const std::string &why) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({"compare", g2p(), "a", "--input", "x=x.npy"}, "cannot be used together");
    refused({"compare", g2p(), "a", "--graph", "encode"}, "needs --input");
    refused({"compare", g2p(), "a", "--device", "cpu", "--reference", "cpu"}, "nothing to compare");
    refused({"compare", g2p(), "a", "--against", "gpu"}, "--against");
}
