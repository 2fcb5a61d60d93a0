// The form of profiles and traces. Times depend on the machine, so no test looks at their values.
#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using nlohmann::json;

namespace {

json profile(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"profile", g2p(), "hello"});
    arguments.insert(arguments.end(), {"--device", "cpu", "--json"});
    const Finished f = run_lamina(arguments);
    INFO(f.err);
    REQUIRE(f.status == 0);
    return json::parse(f.out);
}

} // namespace

TEST_CASE("profile: shares of all lines add up to the whole run, and the longest come first") {
    for (const std::string by : {"type", "layer"}) {
        const json all = profile({"--by", by});
        CHECK(all["runs_of_graphs"].get<int>() > 2); // the source, the beginning, and every phone
        double sum = 0, last = 2;
        std::set<std::string> types;
        for (const json &line : all["profile"]) {
            const double share = line["share"];
            CHECK(share <= last);
            sum += share, last = share;
            types.insert(line["type"].get<std::string>());
            CHECK((line["layer"] == "") == (by == "type" || line["calls"].is_null()));
        }
        CHECK(std::abs(sum - 1) < 0.02);
        for (const char *type : {"attention", "linear", "layer_norm"}) CHECK(types.contains(type));
    }
}

TEST_CASE("profile: a trace has complete events on named tracks, layers within their graphs") {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "trace.json";
    (void)profile({"--trace", file});
    std::ifstream in(file);
    const json trace = json::parse(in);
    std::map<int, std::string> tracks;
    std::vector<std::pair<double, double>> graphs;
    size_t layers = 0;
    for (const json &event : trace["traceEvents"]) {
        REQUIRE(event["name"].is_string());
        REQUIRE(event["pid"].is_number_integer());
        REQUIRE(event["tid"].is_number_integer());
        if (event["ph"] == "M") {
            tracks[event["tid"]] = event["args"]["name"];
            continue;
        }
        REQUIRE(event["ph"] == "X");
        const double begin = event["ts"], end = begin + event["dur"].get<double>();
        CHECK(begin >= 0);
        CHECK(end >= begin);
        CHECK(tracks.contains(event["tid"]));
        if (event["cat"] == "graph") {
            CHECK((graphs.empty() || begin >= graphs.back().second)); // one after the other
            graphs.emplace_back(begin, end);
        } else {
            ++layers;
            CHECK(begin >= graphs.back().first);
            CHECK(end <= graphs.back().second + 1); // 1 µs for rounding
            CHECK(event["args"]["variant"].is_string());
        }
    }
    CHECK(graphs.size() > 2);
    CHECK(layers > 96);
}

TEST_CASE("profile: invalid arguments are refused") {
    const auto refused = [](std::vector<std::string> arguments, const std::string &why) {
        arguments.insert(arguments.begin(), "profile");
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({}, "MODEL is required");
    refused({g2p(), "hello", "--batch", "2"}, "--batch is about a text that Lamina makes");
    refused({g2p(), "--input", "ids=ids.npy", "--batch", "2"}, "--batch is about texts");
    refused({g2p(), "--trace", "x.svg"}, "name it x.json");
    refused({g2p(), "--by", "kernel"}, "dispatch");
}
