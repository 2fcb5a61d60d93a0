// Fusions from the command line: they run where one of their variants is named, and never with --no-fusion.
#include "absent_driver.hpp"
#include "catch.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

using nlohmann::json;

namespace {

// The types of the layers that a command lists under `key`.
std::set<std::string> types_in(std::vector<std::string> arguments, const std::string &key) {
    arguments.insert(arguments.end(), {"--device", "vulkan:0", "--json"});
    const Finished f = run_lamina(arguments);
    INFO(f.err);
    REQUIRE(f.status == 0);
    const json out = json::parse(f.out);
    std::set<std::string> types;
    for (const json &layer : out.at(key)) types.insert(layer.at("type").get<std::string>());
    return types;
}

} // namespace

TEST_CASE("--variant of a fusion runs it, --no-fusion runs each layer, and both give the same") {
    if (run_lamina({"devices"}).out.find("vulkan:0") == std::string::npos)
        return test::report_absent("any", "no Vulkan device");
    const std::string named = "linears=baseline";
    CHECK(types_in({"profile", g2p(), "hello", "--variant", named}, "profile").contains("linears"));
    CHECK_FALSE(types_in({"profile", g2p(), "hello", "--no-fusion"}, "profile").contains("linears"));
    CHECK(types_in({"compare", g2p(), "hello", "--variant", named}, "layers").contains("linears"));
    CHECK_FALSE(types_in({"compare", g2p(), "hello", "--variant", named, "--no-fusion"}, "layers").contains("linears"));
    std::set<std::string> phones;
    for (const std::vector<std::string> &how : {std::vector<std::string>{"--variant", named}, {"--no-fusion"}}) {
        std::vector<std::string> command{"run", g2p(), "hello", "transformer", "--device", "vulkan:0"};
        command.insert(command.end(), how.begin(), how.end());
        const Finished f = run_lamina(command);
        CHECK(f.status == 0);
        phones.insert(f.out);
    }
    CHECK(phones.size() == 1);
}

TEST_CASE("a fusion is listed with the layers that it replaces, and has no variant that it does not have") {
    const Finished listed = run_lamina({"plugins", "rms_norm_linears"});
    CHECK_THAT(listed.out, matchers::contains("fuses:     rms_norm, linear, linear, linear"));
    if (run_lamina({"devices"}).out.find("vulkan:0") == std::string::npos)
        return test::report_absent("any", "no Vulkan device");
    const Finished wrong = run_lamina({"run", g2p(), "a", "--device", "vulkan:0", "--variant", "linears=few_row"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.err, matchers::contains("'few_row'") && matchers::contains("few_rows"));
}
