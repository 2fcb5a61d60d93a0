#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include "model/safetensors.hpp"
#include "places.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>

#include <sys/wait.h>

using nlohmann::json;

namespace {

// A call of `linear` whose exact result is 0, which sums of floats do not reach.
std::filesystem::path write_failing_replay(const std::filesystem::path &file) {
    const std::array<float, 2> x{3e38F, 3e38F}, weight{10, -10};
    lamina::model::write_safetensors(file,
                                     {{"in.x", lamina::Tensor::of({1, 2}, std::span(x))},
                                      {"weight.weight", lamina::Tensor::of({1, 2}, std::span(weight))}},
                                     {{"layer", "linear"}, {"params", "{}"}});
    return file;
}

// Runs a line that `lamina` printed for pasting, in a shell that finds this `lamina`.
int status_in_shell(const std::string &line) {
    const std::string folder = std::filesystem::path(LAMINA_COMMAND).parent_path();
    const std::string quiet = " > /dev/null 2>&1";
    return WEXITSTATUS(std::system(("PATH='" + folder + "'; " + line + quiet).c_str()));
}

} // namespace

TEST_CASE("check: the CPU's fast kernels agree with the references, and every case can be run again") {
    const Finished f = run_lamina({"check", "linear", "--device", "cpu", "--json"});
    REQUIRE(f.status == 0);
    const json report = json::parse(f.out);
    CHECK(report["device"]["id"] == "cpu");
    CHECK(report["failed"] == 0);
    CHECK(report["passed"].get<size_t>() + report["skipped"].get<size_t>() == report["cases"].size());
    CHECK(report["passed"].get<size_t>() >= 30);
    for (const json &each : report["cases"]) // variants for some dtypes of weights alone
        if (each["status"] == "skipped") CHECK(each["variant"] != "cpu_fallback");

    const json &one = report["cases"].front();
    const Finished again =
        run_lamina({"check", "linear", "--device", "cpu", "--json", "--case", one["case"].get<std::string>()});
    REQUIRE(again.status == 0);
    const json same = json::parse(again.out)["cases"];
    REQUIRE(same.size() == 3);
    CHECK(same[0] == one); // the same shapes, values and error
}

TEST_CASE("check: soaking says how likely a rare fault would have been missed") {
    const Finished f = run_lamina({"check", "linear", "--device", "cpu", "--own-cases", "--soak", "30"});
    REQUIRE(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("every case ran 30 times more") && matchers::contains("1 of 10 runs"));
    CHECK(run_lamina({"check", "linear", "--admit", "--soak", "3"}).status == 2);
}

TEST_CASE("check: the printed replay command works when pasted into a shell") {
    const TemporaryFolder folder;
    const std::filesystem::path file = write_failing_replay(folder.path() / "a call's.safetensors");
    const Finished f = run_lamina({"check", "--replay", file, "--device", "cpu", "--json"});
    INFO(f.err);
    REQUIRE(f.status == 7);
    const std::string again = json::parse(f.out)["cases"][0]["replay"];
    INFO(again);
    CHECK(status_in_shell(again) == 7);
}

TEST_CASE("check: a case takes its values from --seed unless it names a seed itself") {
    const auto case_of = [](const std::string &text, const std::vector<std::string> &more = {}) {
        std::vector<std::string> arguments{"check", "linear", "--device", "cpu", "--json", "--case", text};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Finished f = run_lamina(arguments);
        REQUIRE(f.status == 0);
        return json::parse(f.out)["cases"][0]["case"].get<std::string>();
    };
    CHECK(case_of("T=3 K=5 N=2", {"--seed", "7"}) == "K=5 N=2 T=3 seed=7");
    CHECK(case_of("T=3 K=5 N=2 seed=9") == "K=5 N=2 T=3 seed=9");
}

TEST_CASE("check: the table has a line a layer and variant, and a closing line") {
    const Finished f = run_lamina({"check", "linear", "feed_forward", "--device", "cpu"});
    REQUIRE(f.status == 0);
    const auto lines = lines_of(f.out);
    REQUIRE(lines.size() == 9); // head, two layers with three variants each, an empty line, the summary
    CHECK_THAT(lines[0], matchers::contains("WORST / LIMIT"));
    CHECK_THAT(lines[1], matchers::contains("cpu_fallback"));
    CHECK_THAT(lines.back(), matchers::contains("agree with the references"));
}

TEST_CASE("check: a layer without a CPU kernel has nothing to check, which is no pass") {
    const Finished f = run_lamina({"check", "dropout", "--device", "cpu"});
    CHECK(f.status == 7);
    CHECK_THAT(f.out, matchers::contains("nothing to check on cpu"));
}

TEST_CASE("check: kernels can be checked without a driver, but models cannot run there") {
    const Finished f = run_lamina({"check", "layer_norm", "--device", "interpreter", "--case", "B=2 T=3 C=67 +bias"});
    CHECK(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("2 cases on interpreter (kernels without a driver) agree"));
    const Finished run = run_lamina({"run", LAMINA_SOURCE_DIR "/models/g2p", "hello", "--device", "interpreter"});
    CHECK(run.status == 2);
    CHECK_THAT(run.err, matchers::contains("'interpreter' is for 'lamina check' only"));
}

TEST_CASE("check: invalid arguments are refused") {
    const auto refused = [](const std::vector<std::string> &arguments, int status, const std::string &why) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == status);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({"check", "--device", "cpu", "--case", "B=2"}, 2, "--case needs exactly one LAYER");
    refused({"check", "linear", "--device", "reference"}, 2, "checked against");
    refused({"check", "linear", "--device", "cpu", "--case", ""}, 2, "expected a value, found nothing");
    refused({"check", "linear", "--device", "cpu", "--replay", "x"}, 2, "LAYER cannot be used with --replay");
    refused({"check", "--device", "cpu", "--admit", "--thorough"}, 2, "--thorough cannot be used with --admit");
    refused({"check", "linaer", "--device", "cpu"}, 8, "did you mean 'linear'");
    refused({"check", "linear", "--device", "cpu", "--variant", "cpu_falback"}, 2, "did you mean 'cpu_fallback'");
    refused({"check", "linear", "--device", "cpu", "--case", "T=3 Q=5"}, 3, "there is no parameter, dim or port 'Q'");
    refused({"check", "linear", "--device", "cpu", "--case", "T=3 K=0"}, 3, "a size from 1");
    refused({"check", "linear", "--device", "cpu", "--case", "K=5 K=6"}, 3, "'K' is given twice");
    refused({"check", "dropout", "--device", "cpu", "--case", "Q=5"}, 3, "there is no parameter, dim or port 'Q'");
    refused({"check", "linear", "--case", "K=3 seed=7", "--seed", "8"}, 2,
            "--seed cannot be used with a --case that contains");
    for (const std::string option : {"--thorough", "--own-cases"})
        refused({"check", "linear", "--case", "K=3", option}, 2, option + " cannot be used with --case");
    refused({"check", "linear", "--own-cases", "--thorough"}, 2, "--thorough cannot be used with --own-cases");
}
