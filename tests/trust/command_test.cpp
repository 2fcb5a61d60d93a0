// The same with the command: a wrong variant is found, named, saved and replayed.
#include "../cli/process.hpp"
#include "absent_driver.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

#include <nlohmann/json.hpp>

#include <fstream>

using namespace lamina;

namespace {

void write_model(const TemporaryFolder &folder, const std::string &layer) {
    std::ofstream(folder.path() / "model.json") << R"({"format": "lamina/1", "name": "doubled", "graphs": {"run": {
        "inputs": {"x": {"dtype": "f32", "dims": "N C"}},
        "layers": [{"name": "first", "type": "softmax", "inputs": {"x": "x"}}, {"name": "second", "type": ")"
                                                << layer << R"("}], "outputs": {"y": "second"}}}})";
    Tensor x(TensorType{DType::f32, {2, 512}});
    for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 11);
    write_npy(folder.path() / "x.npy", x);
}

Finished lamina_with_wrong_layers(const TemporaryFolder &folder, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--plugin-dir", WRONG_PLUGINS});
    return run_lamina(arguments, {.environment = {{"XDG_CACHE_HOME", (folder.path() / "cache").string()}}});
}

} // namespace

TEST_CASE("the command names a wrong layer, keeps its call, and replays it") {
    const TemporaryFolder folder;
    write_model(folder, "wrong_when_long");
    if (run_lamina({"devices"}).out.find("vulkan:0") == std::string::npos)
        return test::report_absent("any", "no Vulkan device");
    const std::string model = folder.path().string(), input = "x=" + (folder.path() / "x.npy").string();
    const std::string svg = (folder.path() / "map.svg").string(), replay = (folder.path() / "re play").string();
    const Finished compared = lamina_with_wrong_layers(
        folder, {"compare", model, "--input", input, "--device", "vulkan:0", "--variant", "wrong_when_long=fast",
                 "--reference", "reference", "--svg", svg, "--replay", replay, "--json"});
    INFO(compared.err);
    CHECK(compared.status == 7);
    const auto json = nlohmann::json::parse(compared.out);
    CHECK(json.at("agrees") == false);
    CHECK(json.at("replay_command") == "lamina check --replay '" + replay + "/second.safetensors' --device vulkan:0 " +
                                           "--variant fast --plugin-dir " WRONG_PLUGINS);
    CHECK_THAT(folder.read("map.svg"), matchers::contains(">layer 'second' of graph 'run'"));
    for (const std::string &line : lines_of(folder.read("map.svg"))) // all text fits on the page
        if (line.starts_with("<text")) CHECK(line.size() - line.find('>') < 120 + std::string("</text>").size());
    const Finished text = lamina_with_wrong_layers(
        folder, {"compare", model, "--input", input, "--device", "vulkan:0", "--variant", "wrong_when_long=fast"});
    CHECK(text.status == 7);
    CHECK_THAT(text.out,
               matchers::contains("layer 'second' of graph 'run' (wrong_when_long, variant fast) is the first "
                                  "that is wrong on vulkan:0"));

    const Finished replayed =
        lamina_with_wrong_layers(folder, {"check", "--device", "vulkan:0", "--replay", replay, "--variant", "fast"});
    INFO(replayed.out << replayed.err);
    CHECK(replayed.status == 7);
    const Finished nothing = lamina_with_wrong_layers(folder, {"check", "--device", "cpu", "--replay", replay});
    CHECK(nothing.status == 7); // the CPU has no kernel for it, which is no success
    const Finished right = lamina_with_wrong_layers(
        folder, {"check", "--device", "vulkan:0", "--replay", replay, "--variant", "baseline"});
    CHECK(right.status == 0);

    const Finished admitted = lamina_with_wrong_layers(folder, {"check", "wrong_always", "--admit", "-d", "vulkan:0"});
    CHECK(admitted.status == 7);
    CHECK_THAT(admitted.out, matchers::contains("barred"));
    const Finished forgotten =
        lamina_with_wrong_layers(folder, {"check", "wrong_always", "--admit", "--no-cache", "-d", "vulkan:0"});
    CHECK_THAT(forgotten.err, matchers::contains("these results are not saved"));
}

TEST_CASE("a layer without a proved kernel is refused with one message, and compare shows what is wrong with it") {
    const TemporaryFolder folder;
    write_model(folder, "wrong_everywhere");
    if (run_lamina({"devices"}).out.find("vulkan:0") == std::string::npos)
        return test::report_absent("any", "no Vulkan device");
    const auto with = [&](const std::string &command, const std::vector<std::string> &more = {}) {
        std::vector<std::string> arguments{command,    folder.path().string(),
                                           "--input",  "x=" + (folder.path() / "x.npy").string(),
                                           "--device", "vulkan:0",
                                           "--quiet"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return lamina_with_wrong_layers(folder, arguments);
    };
    for (int again = 0; again < 2; ++again) { // the verdict is remembered
        const Finished refused = with("run");
        CHECK(refused.status == 9);
        CHECK(refused.out.empty());
        const std::vector<std::string> lines = lines_of(refused.err);
        REQUIRE(lines.size() == 4); // where, why, the command that shows it, the command that mends it
        CHECK_THAT(lines[0], matchers::contains("layer 'second': 'wrong_everywhere' may not run on"));
        CHECK_THAT(lines[0], matchers::contains("'baseline' failed its proof"));
        CHECK_THAT(lines[1], matchers::contains("expected") && matchers::contains("allowed in its row"));
        CHECK_THAT(lines[2], matchers::contains("lamina check wrong_everywhere --device vulkan:0 --variant baseline"));
        CHECK_THAT(lines[3], matchers::contains("lamina check wrong_everywhere --admit --device vulkan:0"));
    }
    const std::string replay = (folder.path() / "replay").string();
    const Finished compared = with("compare", {"--svg", (folder.path() / "map.svg").string(), "--replay", replay});
    CHECK(compared.status == 7);
    CHECK_THAT(compared.out, matchers::contains("WRONG") && matchers::contains("layer 'second' of graph 'run'"));
    CHECK_THAT(folder.read("map.svg"), matchers::contains(">layer 'second' of graph 'run'"));
    CHECK(std::filesystem::exists(replay + "/second.safetensors"));
    const auto found = nlohmann::json::parse(with("compare", {"--json"}).out);
    CHECK(found.at("unproven") == nlohmann::json{"wrong_everywhere"});
    CHECK(found.at("proof_command") ==
          "lamina check wrong_everywhere --admit --device vulkan:0 --plugin-dir " WRONG_PLUGINS);
}

TEST_CASE("the command shows three of a variant's failed cases, and counts the others") {
    const TemporaryFolder folder;
    const std::vector<std::string> check{"check", "wrong_always", "--variant", "fast", "--device", "interpreter"};
    std::vector<std::string> with_json = check;
    with_json.emplace_back("--json");
    const Finished data = lamina_with_wrong_layers(folder, with_json), text = lamina_with_wrong_layers(folder, check);
    INFO(text.err);
    CHECK(text.status == 7);
    const auto failed = nlohmann::json::parse(data.out).at("failed").get<size_t>();
    REQUIRE(failed > 20);
    size_t shown = 0;
    for (const std::string &line : lines_of(text.out))
        shown += line.starts_with("  lamina check wrong_always ") ? 1 : 0;
    CHECK(shown == 3);
    CHECK_THAT(text.out, matchers::contains("wrong_always, fast: " + std::to_string(failed - 3) +
                                            " more cases failed; --json shows all"));
}

TEST_CASE("the command says which layer runs its reference on the CPU, where that is much of the work") {
    const TemporaryFolder folder;
    write_model(folder, "wrong_always");
    const std::string model = folder.path().string(), input = "x=" + (folder.path() / "x.npy").string();
    const Finished f = lamina_with_wrong_layers(folder, {"run", model, "--input", input, "--device", "cpu"});
    CHECK(f.status == 0);
    CHECK_THAT(f.err,
               matchers::contains("layer 'wrong_always' has no kernel for the CPU, so its reference runs there"));
    CHECK(run_lamina({"run", g2p(), "word", "--device", "cpu"}).err.find("reference") == std::string::npos);
}
