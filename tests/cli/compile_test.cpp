// lamina check --compile: kernels are compiled, and none runs.
#include "absent_driver.hpp"
#include "catch.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

#include <set>

using nlohmann::json;

namespace {

bool has_vulkan() {
    if (run_lamina({"devices"}).out.find("vulkan:0") != std::string::npos) return true;
    test::report_absent("any", "no Vulkan device");
    return false;
}

} // namespace

TEST_CASE("check --compile: the pipelines of a layer's cases, with their constants, variants and a case") {
    if (!has_vulkan()) return;
    const Finished f =
        run_lamina({"check", "softmax", "linear", "--compile", "--own-cases", "--device", "vulkan:0", "--json"});
    INFO(f.err);
    REQUIRE(f.status == 0);
    const json report = json::parse(f.out);
    CHECK(report["compiles"] == true);
    CHECK_FALSE(report.contains("steps"));
    std::set<std::string> layers;
    std::set<json> pipelines;
    for (const json &k : report["kernels"]) {
        layers.insert(k["layer"].get<std::string>());
        pipelines.insert(json::array({k["layer"], k["kernel"], k["constants"]}));
        CHECK_FALSE(k["variants"].empty());
        CHECK_THAT(k["needed_by"].get<std::string>(), matchers::contains(" seed="));
        CHECK_FALSE(k.contains("error"));
        CHECK(k["statistics"].empty() != report["statistics"].get<bool>());
    }
    CHECK(layers == std::set<std::string>{"linear", "softmax"});
    CHECK(pipelines.size() == report["kernels"].size()); // each once
    CHECK(pipelines.size() > 50);
}

TEST_CASE("check --compile --model: every step of the model is computed by a variant whose pipelines are there") {
    if (!has_vulkan()) return;
    const Finished f = run_lamina({"check", "--compile", "--model", g2p(), "--device", "vulkan:0", "--json"});
    INFO(f.err);
    REQUIRE(f.status == 0);
    const json report = json::parse(f.out);
    std::map<std::string, size_t> steps; // by run, without fusions
    std::set<std::string> layers, compiled;
    for (const json &s : report["steps"]) {
        bool computed = false;
        for (const json &v : s["variants"]) {
            CHECK(v["computes"].get<bool>() != v.contains("why_not"));
            computed |= v["computes"].get<bool>();
        }
        if (computed) layers.insert(s["layer"].get<std::string>());
        if (s["fusion"] == true) continue;
        CHECK(computed);
        steps[s["run"].get<std::string>()] += s["count"].get<size_t>();
    }
    for (const json &k : report["kernels"]) compiled.insert(k["layer"].get<std::string>());
    CHECK(layers == compiled);
    CHECK(layers.contains("linears")); // a fusion
    CHECK(steps.size() == 5);
    CHECK(steps.at("the next token") == steps.at("the next token of 8 texts"));
    CHECK(steps.at("a prompt of 128 tokens") < steps.at("the next token")); // it only fills caches

    const Finished table = run_lamina({"check", "--compile", "--model", g2p(), "--device", "vulkan:0"});
    CHECK_THAT(table.out, matchers::contains("8 sources of 128 tokens") && matchers::contains("compile on vulkan:0") &&
                              matchers::contains("; none has run\n"));
}

TEST_CASE("check --compile: what does not fit together is refused") {
    const auto refused = [](const std::vector<std::string> &arguments, const std::string &why) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({"check", "--compile", "--device", "cpu"}, "expected one device, such as vulkan:0, found 'cpu'");
    refused({"check", "--model", g2p()}, "--model needs --compile");
    refused({"check", "softmax", "--compile", "--model", g2p()}, "LAYER cannot be used with --model");
    refused({"check", "--compile", "--model", g2p(), "--own-cases"}, "--own-cases is about cases of layers");
    refused({"check", "--compile", "--admit"}, "--admit cannot be used with --compile");
}
