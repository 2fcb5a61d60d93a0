// --device with several devices, and what goes with it.
#include "absent_driver.hpp"
#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using matchers::contains;
using nlohmann::json;

namespace {

// "vulkan:0", or nothing.
std::string any_vulkan() {
    const json listed = json::parse(run_lamina({"devices", "--json"}).out);
    for (const json &device : listed["devices"])
        if (device["usable"] && device["id"] != "cpu") return device["id"];
    test::report_absent("any", "no usable device");
    return "";
}

std::string refusal(const std::vector<std::string> &arguments) {
    const Finished f = run_lamina(arguments);
    CHECK(f.status == 2);
    CHECK(f.out.empty());
    return f.err;
}

} // namespace

TEST_CASE("several devices: words come out as on one, and stderr says what is where") {
    const std::string vulkan = any_vulkan();
    if (vulkan.empty()) return;
    const std::string expected = run_lamina({"run", g2p(), "vulkan", "layer", "--device", "cpu"}).out;
    const Finished f =
        run_lamina({"run", g2p(), "vulkan", "layer", "--device", "cpu," + vulkan, "--split", "6,2", "--json"});
    const Finished text = run_lamina({"run", g2p(), "vulkan", "layer", "--device", "cpu," + vulkan, "--split", "6,2"});
    CHECK(f.status == 0);
    CHECK(text.out == expected);
    CHECK_THAT(text.err,
               contains("encoder.0 to decoder.1 on cpu (") && contains("; decoder.2 to decoder.3 on " + vulkan));
    const Finished roomy = run_lamina({"run", g2p(), "vulkan", "layer", "--device", vulkan + ",cpu"});
    CHECK(roomy.out == expected);
    CHECK_THAT(roomy.err, contains("encoder.0 to decoder.3 on " + vulkan) && contains("; nothing on cpu\n"));
}

TEST_CASE("several devices: inspect shows the layers of each") {
    const std::string vulkan = any_vulkan();
    if (vulkan.empty()) return;
    const std::string both = vulkan + ",cpu";
    const Finished text = run_lamina({"inspect", g2p(), "--device", both, "--max-memory", "2MiB"});
    CHECK_THAT(text.out, contains("devices, with caches for a text of 4096 tokens") && contains("2.0 MiB"));
    const Finished data =
        run_lamina({"inspect", g2p(), "--device", both, "--split", "3,5", "--cache", "f16", "--json"});
    const json inspected = json::parse(data.out), &devices = inspected["devices"];
    REQUIRE(devices.size() == 2);
    CHECK(devices[0]["device"] == vulkan);
    CHECK(devices[0]["layers"] == 3);
    CHECK(devices[0]["cache_bytes"] == 0);
    CHECK(devices[1]["first"] == "encoder.3");
    CHECK(devices[1]["last"] == "decoder.3");
    CHECK(devices[1]["cache_bytes"] == 4 * 2 * 4096 * 160 * 2);
    CHECK(devices[1]["room_bytes"].is_null());
    CHECK_FALSE(json::parse(run_lamina({"inspect", g2p(), "--json"}).out).contains("devices"));
}

TEST_CASE("several devices: a profile and its trace have a line and tracks for each") {
    const std::string vulkan = any_vulkan();
    if (vulkan.empty()) return;
    const TemporaryFolder folder;
    const std::string file = folder.path() / "trace.json";
    const Finished f = run_lamina(
        {"profile", g2p(), "hello", "--device", "cpu," + vulkan, "--split", "4,4", "--trace", file, "--json"});
    REQUIRE(f.status == 0);
    std::set<std::string> devices, tracks;
    const json profile = json::parse(f.out);
    for (const json &line : profile["profile"])
        if (line["calls"].is_number()) devices.insert(line["device"].get<std::string>());
    CHECK(devices == std::set<std::string>{"cpu", vulkan});
    std::ifstream in(file);
    const json trace = json::parse(in);
    for (const json &event : trace["traceEvents"])
        if (event["name"] == "thread_name") tracks.insert(event["args"]["name"].get<std::string>());
    CHECK(tracks.contains("layers on cpu"));
    CHECK(tracks.contains("layers on " + vulkan));
}

TEST_CASE("several devices: options that make no sense say what is expected") {
    CHECK_THAT(refusal({"run", g2p(), "a", "--device", "cpu", "--split", "8"}),
               contains("split among several devices"));
    CHECK_THAT(refusal({"run", g2p(), "a", "--device", "cpu,cpu"}), contains("cpu is given twice"));
    CHECK_THAT(refusal({"inspect", g2p(), "--device", "cpu"}), contains("expected several devices"));
    CHECK_THAT(refusal({"inspect", g2p(), "--split", "4,4"}),
               contains("--split is about what each of several devices would hold"));
    CHECK_THAT(refusal({"bench", "linear", "--device", "cpu", "--split", "4,4"}), contains("is about models"));
    const std::string vulkan = any_vulkan();
    if (vulkan.empty()) return;
    const auto of_run = [&](const std::string &option, const std::string &value) {
        return refusal({"run", g2p(), "a", "--device", vulkan + ",cpu", option, value});
    };
    CHECK_THAT(of_run("--split", "4,5"), contains("8 in all"));
    for (const char *wrong : {"4,", "a,b", "4;4", "-1,9", ""}) {
        INFO(wrong);
        CHECK_THAT(of_run("--split", wrong), contains("--split: expected auto, or numbers of layers"));
    }
    for (const char *wrong : {"1GB", "GiB", "-1GiB", "nanGiB", "1e300GiB", "1"}) {
        INFO(wrong);
        CHECK_THAT(of_run("--max-memory", wrong), contains("--max-memory: expected sizes as in 6GiB"));
    }
    CHECK_THAT(refusal({"check", "softmax", "--device", vulkan + ",cpu"}), contains("here, one is expected"));
}
