// The form of what is measured. Times depend on the machine, so no test looks at their values.
#include "absent_driver.hpp"
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>

using nlohmann::json;

namespace {

json bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"--device", "cpu", "--json"});
    const Finished f = run_lamina(arguments);
    INFO(f.err);
    REQUIRE(f.status == 0);
    json out = json::parse(f.out);
    CHECK(out["device"]["id"] == "cpu");
    CHECK(out["limits"]["bytes_per_second"].get<double>() > 0);
    CHECK(out["limits"]["operations_per_second"].get<double>() > 0);
    return out["results"];
}

bool is_near(const json &value, double expected) {
    return std::abs(value.get<double>() - expected) <= 1e-9 * std::abs(expected);
}

} // namespace

TEST_CASE("bench, compare, profile and run refuse --cache where a model keeps nothing of earlier tokens") {
    const std::string encoder = LAMINA_SOURCE_DIR "/tests/architectures/sentences/older";
    for (const std::vector<std::string> &command : {std::vector<std::string>{"bench", encoder},
                                                    {"compare", encoder, "a fox"},
                                                    {"profile", encoder},
                                                    {"run", encoder, "a fox"}}) {
        std::vector<std::string> words = command;
        words.insert(words.end(), {"--cache", "f16", "--device", "cpu"});
        const Finished f = run_lamina(words);
        INFO(command.front() << ": " << f.err);
        CHECK(f.status == 2);
        CHECK_THAT(f.err, matchers::contains("--cache is about generating text, which this model does not do"));
    }
}

TEST_CASE("bench: a layer is measured for every case of a list, with its cost and the share of the limit") {
    const json results = bench({"linear", "--case", "T=2,3 K=64 N=32", "--seconds", "0"});
    REQUIRE(results.size() == 2);
    CHECK(results[0]["case"] == "T=2 K=64 N=32");
    CHECK(results[1]["case"] == "T=3 K=64 N=32");
    for (const json &r : results) {
        CHECK(r["variant"] == "cpu_fallback");
        CHECK(r["runs"].get<int>() >= 1);
        const double median = r["median_seconds"], low = r["low_seconds"], high = r["high_seconds"];
        CHECK(low <= median);
        CHECK(median <= high);
        CHECK(is_near(r["gflop_per_second"], r["operations"].get<double>() / median * 1e-9));
        CHECK(r["share_of_limit"].get<double>() > 0);
    }
    CHECK(results[1]["operations"] == 2 * 3 * 64 * 32);
    CHECK(results[1]["bytes"] == 4 * (3 * 64 + 64 * 32 + 3 * 32));
}

TEST_CASE("bench: all variants are measured, and a layer without declared work has none") {
    const json results = bench({"linear", "dropout", "--variants", "--seconds", "0"});
    REQUIRE(results.size() == 5);
    CHECK(results[0]["variant"] == "cpu_fallback");
    CHECK(results[0]["times_as_fast_as_the_first_variant"].is_null());
    CHECK(results[1]["variant"] == "cpu_fallback_f16"); // for weights of other dtypes
    CHECK(results[1]["median_seconds"].is_null());
    CHECK(results[3]["variant"] == "reference");
    CHECK(is_near(results[3]["times_as_fast_as_the_first_variant"],
                  results[0]["median_seconds"].get<double>() / results[3]["median_seconds"].get<double>()));
    CHECK(results[4]["times_as_fast_as_the_first_variant"].is_null()); // of another layer
    CHECK(results[4]["layer"] == "dropout");
    CHECK(results[4]["variant"] == "reference");
    CHECK(results[4]["operations"].is_null());
    CHECK(results[4]["gb_per_second"].get<double>() > 0);
}

TEST_CASE("bench: the gain of every variant is that over the first one, not over the one before it") {
    if (run_lamina({"devices"}).out.find("vulkan:0") == std::string::npos)
        return test::report_absent("any", "no Vulkan device");
    const Finished f = run_lamina({"bench", "linear", "--variants", "--case", "T=3 K=64 N=32", "--seconds", "0",
                                   "--device", "vulkan:0", "--json"});
    INFO(f.err);
    REQUIRE(f.status == 0);
    const json results = json::parse(f.out)["results"];
    std::vector<json> measured;
    for (const json &r : results)
        if (!r["median_seconds"].is_null()) measured.push_back(r);
    REQUIRE(measured.size() >= 2);
    if (measured.size() == 2) return; // of a device without subgroups
    CHECK(measured[0]["times_as_fast_as_the_first_variant"].is_null());
    for (size_t i = 1; i < measured.size(); ++i)
        CHECK(is_near(measured[i]["times_as_fast_as_the_first_variant"],
                      measured[0]["median_seconds"].get<double>() / measured[i]["median_seconds"].get<double>()));
}

TEST_CASE("bench: a chart has a bar for each variant that was measured") {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "ladder.svg";
    (void)bench({"linear", "--case", "T=1,2 K=8 N=8", "--variants", "--seconds", "0", "--svg", file});
    std::ifstream in(file);
    const std::string svg{std::istreambuf_iterator<char>(in), {}};
    const auto count = [&](const std::string &text) {
        size_t n = 0;
        for (size_t at = 0; (at = svg.find(text, at)) != std::string::npos; ++at) ++n;
        return n;
    };
    CHECK(count("linear T=") == 2);
    CHECK(count(">cpu_fallback<") == 2);
    CHECK(count(", 1x<") >= 2); // the first variant, beside itself
    CHECK(count("<rect") == 1 + 4);
}

TEST_CASE("bench: OpenBLAS and another device are measured beside a product") {
    const json results =
        bench({"linear", "layer_norm", "--yardstick", "--compare-device", "reference", "--seconds", "0"});
    REQUIRE(results.size() == 2);
    const double own = results[0]["median_seconds"];
    const json &openblas = results[0]["openblas_seconds"];
    if (openblas.is_null()) // it is not installed
        CHECK(results[0]["times_as_fast_as_openblas"].is_null());
    else
        CHECK(is_near(results[0]["times_as_fast_as_openblas"], openblas.get<double>() / own));
    CHECK(results[1]["openblas_seconds"].is_null()); // no product
    for (const json &r : results) {
        const double median = r["median_seconds"], beside = r["beside_seconds"];
        CHECK(is_near(r["times_as_fast_as_beside"], beside / median));
    }
    const json both = bench({"linear", "--case", "T=2 K=8 N=8", "--variants", "--yardstick", "--seconds", "0"});
    REQUIRE(both.size() == 4);
    CHECK(both[0]["openblas_seconds"] == both[3]["openblas_seconds"]); // measured once
}

TEST_CASE("bench: CSV and Markdown have a line for each result") {
    const auto lines = [](const std::string &format) {
        const Finished f = run_lamina(
            {"bench", "linear", "--case", "T=1,2 K=8 N=8", "--seconds", "0", "--device", "cpu", "--format", format});
        REQUIRE(f.status == 0);
        CHECK_THAT(f.err, matchers::contains("the limit:"));
        return lines_of(f.out);
    };
    const auto csv = lines("csv"), md = lines("md"), table = lines("table");
    REQUIRE(csv.size() == 3);
    CHECK_THAT(csv[0], matchers::contains("layer,case,variant,runs,median_seconds"));
    CHECK(csv[1].starts_with("linear,T=1 K=8 N=8,cpu_fallback,"));
    REQUIRE(md.size() == 4);
    CHECK(md[0].starts_with("| LAYER | CASE | VARIANT |"));
    CHECK(md[1].starts_with("| --- | --- | --- | ---: |"));
    CHECK(md[2].starts_with("| linear | T=1 K=8 N=8 | cpu_fallback |"));
    CHECK(table.size() == 3);
}

TEST_CASE("bench: a model's answers are measured, prompt and answer apart") {
    const json results = bench({g2p(), "--prompt-tokens", "5", "--tokens", "4", "--rounds", "2"});
    std::map<std::string, json> by_name;
    for (const json &r : results) by_name[r["figure"]] = r;
    CHECK(by_name.at("tokens in prompts")["median"].get<double>() <= 6); // with the end of the source
    CHECK(by_name.at("tokens in answers")["median"].get<double>() <= 4);
    CHECK(by_name.at("first token after")["unit"] == "s");
    for (const char *part : {"prompts", "answers"}) {
        CHECK(by_name.at(part)["unit"] == "tokens/s");
        CHECK(by_name.at(part)["rounds"] == 2);
        CHECK(by_name.at(part)["median"].get<double>() > 0);
        CHECK(by_name.at(part)["share_of_limit"].get<double>() > 0);
    }
    CHECK(by_name.at("peak memory of the process")["median"].get<double>() > 1);
}

TEST_CASE("bench: a model's answers that end with their first token have no speed") {
    for (const json &r : bench({g2p(), "--text", "", "--rounds", "1"})) CHECK(r["figure"] != "answers");
}

TEST_CASE("bench: a model is measured on another device, too") {
    const json results = bench({g2p(), "--prompt-tokens", "5", "--tokens", "4", "--rounds", "1", "--cache", "f16",
                                "--compare-device", "reference"});
    for (const json &r : results) CHECK(r["beside"].get<double>() > 0);
}

TEST_CASE("bench: a graph is measured on tensors") {
    const TemporaryFolder folder;
    const std::vector<int32_t> letters{2, 3, 4}, lengths{3};
    lamina::write_npy(folder.path() / "letters.npy", lamina::Tensor::of({1, 3}, std::span(letters)));
    lamina::write_npy(folder.path() / "lengths.npy", lamina::Tensor::of({1}, std::span(lengths)));
    const json results = bench({g2p(), "--graph", "encode", "--rounds", "1", "--input",
                                "letters=" + (folder.path() / "letters.npy").string(), "--input",
                                "lengths=" + (folder.path() / "lengths.npy").string()});
    REQUIRE(results.size() == 2);
    CHECK(results[0]["figure"] == "time of a run");
    CHECK(results[0]["median"].get<double>() > 0);
}

TEST_CASE("bench: invalid arguments are refused") {
    const auto refused = [](std::vector<std::string> arguments, int status, const std::string &why) {
        arguments.insert(arguments.begin(), "bench");
        const Finished f = run_lamina(arguments);
        CHECK(f.status == status);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({}, 2, "name layers or models");
    refused({"linear", "--report", "x.md"}, 2, "its own choice");
    refused({"--report", "x.md", "--seconds", "1"}, 2, "--seconds cannot be used with --report");
    refused({"linaer"}, 2, "did you mean 'linear'");
    refused({"linear", g2p()}, 2, "one after the other");
    refused({"linear", "--rounds", "2"}, 2, "--rounds is about models");
    refused({g2p(), "--case", "T=3"}, 2, "--case is about layers");
    refused({"linear", "--device", "cpu", "--case", "T=3,x K=4"}, 3, "T=x");
    refused({"linear", "--device", "cpu", "--case", "T=3, K=4"}, 3, "T=3,");
    refused({"linear", "--variants", "--variant", "linear=reference"}, 2, "which measures all");
    refused({"linear", "--format", "xml"}, 2, "table");
    refused({g2p(), "--text", "hello", "--prompt-tokens", "9"}, 2, "--prompt-tokens is about a text that Lamina makes");
    refused({g2p(), "--text", "hello", "--batch", "9"}, 2, "--batch is about a text that Lamina makes");
    refused({g2p(), "--input", "ids=ids.npy", "--tokens", "9"}, 2, "--tokens is about texts");
    refused({g2p(), "--input", "ids=ids.npy", "--text", "a"}, 2, "cannot be used together");
    refused({g2p(), "--graph", "encode"}, 2, "--graph needs --input");
    refused({"linear", "--perplexity", "x.txt"}, 2, "--perplexity is about models");
    refused({"linear", "--precision", "half"}, 2, "--precision is about models");
    refused({g2p(), "--precision", "f16"}, 2, "full");
    refused({g2p(), "--window", "9"}, 2, "--window is about --perplexity");
    refused({g2p(), "--perplexity", "x.txt", "--tokens", "9"}, 2, "--tokens cannot be used with --perplexity");
    refused({g2p(), "--perplexity", "absent.txt", "--device", "cpu"}, 3, "absent.txt");
    refused({"linear", "--svg", "x.png"}, 2, "name it x.svg");
    refused({"linear", "--svg", "absent/x.svg"}, 1, "--svg absent/x.svg: there is no folder absent");
    refused({"--report", "absent/x.md"}, 1, "there is no folder absent");
}
