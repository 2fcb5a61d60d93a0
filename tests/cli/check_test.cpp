#include "catch.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

using nlohmann::json;

TEST_CASE("check: the CPU's fast kernels agree with the references, and every case can be run again") {
    const Finished f = run_lamina({"check", "linear", "--device", "cpu", "--json"});
    REQUIRE(f.status == 0);
    const json report = json::parse(f.out);
    CHECK(report["device"]["id"] == "cpu");
    CHECK(report["failed"] == 0);
    CHECK(report["passed"].get<size_t>() == report["cases"].size());
    CHECK(report["passed"].get<size_t>() >= 30);

    const json &one = report["cases"].back();
    const Finished again =
        run_lamina({"check", "linear", "--device", "cpu", "--json", "--case", one["case"].get<std::string>()});
    REQUIRE(again.status == 0);
    const json same = json::parse(again.out)["cases"];
    REQUIRE(same.size() == 1);
    CHECK(same[0] == one); // the same shapes, values and error
}

TEST_CASE("check: a case takes its values from --seed unless it names a seed itself") {
    const auto case_of = [](const std::string &text) {
        const Finished f = run_lamina({"check", "linear", "--device", "cpu", "--json", "--seed", "7", "--case", text});
        REQUIRE(f.status == 0);
        return json::parse(f.out)["cases"][0]["case"].get<std::string>();
    };
    CHECK(case_of("T=3 K=5 N=2") == "K=5 N=2 T=3 seed=7");
    CHECK(case_of("T=3 K=5 N=2 seed=9") == "K=5 N=2 T=3 seed=9");
}

TEST_CASE("check: the table has a line a layer and variant, and a closing line") {
    const Finished f = run_lamina({"check", "linear", "feed_forward", "--device", "cpu"});
    REQUIRE(f.status == 0);
    const auto lines = lines_of(f.out);
    REQUIRE(lines.size() == 5); // head, two layers, an empty line, the summary
    CHECK_THAT(lines[0], matchers::contains("WORST / LIMIT"));
    CHECK_THAT(lines[1], matchers::contains("cpu_fallback"));
    CHECK_THAT(lines.back(), matchers::contains("agree with the references"));
}

TEST_CASE("check: a layer that the CPU runs by its reference has nothing to check, and says so") {
    const Finished f = run_lamina({"check", "dropout", "--device", "cpu"});
    CHECK(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("nothing to check on cpu"));
}

TEST_CASE("check: what makes no sense is refused") {
    const auto refused = [](const std::vector<std::string> &arguments, int status, const std::string &why) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == status);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({"check", "--device", "cpu", "--case", "B=2"}, 2, "--case needs the one LAYER");
    refused({"check", "linear", "--device", "reference"}, 2, "checked against");
    refused({"check", "linear", "--device", "cpu", "--case", ""}, 2, "expected a value, found nothing");
    refused({"check", "linear", "--device", "cpu", "--replay", "x"}, 2, "LAYER does not go with --replay");
    refused({"check", "--device", "cpu", "--admit", "--thorough"}, 2, "--thorough does not go with --admit");
    refused({"check", "linaer", "--device", "cpu"}, 8, "did you mean 'linear'");
    refused({"check", "linear", "--device", "cpu", "--variant", "cpu_falback"}, 2, "did you mean 'cpu_fallback'");
    refused({"check", "linear", "--device", "cpu", "--case", "T=3 Q=5"}, 3, "nothing is called 'Q'");
    refused({"check", "linear", "--device", "cpu", "--case", "T=3 K=0"}, 3, "a size from 1");
}
