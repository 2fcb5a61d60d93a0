#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

using nlohmann::json;

namespace {

Finished doctor(const std::map<std::string, std::string> &environment, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"doctor", "--json"});
    return run_lamina(options, {.environment = environment});
}

std::string problems_of(const Finished &f) {
    std::string out;
    const json report = json::parse(f.out);
    for (const json &each : report.at("problems")) {
        CHECK_FALSE(each.at("what_to_do").get<std::string>().empty());
        out += each.at("problem").get<std::string>() + "\n";
    }
    return out;
}

} // namespace

TEST_CASE("doctor: the report has what a bug report needs, and the checks are right") {
    const Finished f = doctor({}, {"--device", "cpu"});
    CHECK(f.status == 0);
    const json report = json::parse(f.out);
    CHECK_FALSE(report.at("lamina").at("version").get<std::string>().empty());
    CHECK_THAT(report.at("system").at("kernel").get<std::string>(), matchers::contains("Linux "));
    const auto softmax = std::find_if(report.at("plugins").begin(), report.at("plugins").end(),
                                      [](const json &plugin) { return plugin.at("id") == "softmax"; });
    REQUIRE(softmax != report.at("plugins").end());
    CHECK(softmax->at("hash").get<std::string>().size() == 16);
    REQUIRE(report.at("self_check").size() == 2);
    for (const json &check : report.at("self_check")) {
        CHECK(check.at("device") == "cpu");
        CHECK(check.at("result") == "right");
        CHECK(check.at("passed").get<int>() > 0);
    }
    const Finished text = run_lamina({"doctor", "--device", "cpu"});
    CHECK(text.status == 0);
    for (const char *section : {"system\n", "drivers\n", "devices\n", "self check\n", "problems\n"})
        CHECK_THAT(text.out, matchers::contains(section));
}

TEST_CASE("doctor: what is missing is reported with what to do, and is no failure") {
    const TemporaryFolder folder;
    const Finished f =
        doctor({{"VK_DRIVER_FILES", "/no-such-driver.json"}, {"VK_ICD_FILENAMES", "/no-such-driver.json"}},
               {"--device", "cpu"});
    CHECK(f.status == 0);
    CHECK_THAT(problems_of(f), matchers::contains("there is no Vulkan driver"));
    CHECK(json::parse(f.out).at("environment").at("VK_DRIVER_FILES") == "/no-such-driver.json");

    folder.write("lamina_broken.so", "not a library");
    const Finished rejected = doctor({}, {"--device", "cpu", "--plugin-dir", folder.path().string()});
    CHECK(rejected.status == 0);
    CHECK_THAT(problems_of(rejected), matchers::contains("lamina_broken.so was rejected"));
}

TEST_CASE("doctor: a driver that cannot be opened is named with the reason") {
    const TemporaryFolder folder;
    folder.write("library.so", "not a library");
    const std::string manifest = folder
                                     .write("icd.json", R"({"file_format_version": "1.0.0",
                                  "ICD": {"library_path": "./library.so", "api_version": "1.1.0"}})")
                                     .string();
    const Finished f = doctor({{"VK_DRIVER_FILES", manifest}, {"VK_ICD_FILENAMES", manifest}}, {"--device", "cpu"});
    CHECK(f.status == 0);
    const json driver = json::parse(f.out).at("drivers").at(0);
    CHECK(driver.at("library") == (folder.path() / "library.so").string());
    CHECK_FALSE(driver.at("why_not").get<std::string>().empty());
    CHECK_THAT(problems_of(f), matchers::contains("the driver of " + manifest + " cannot be opened"));
}

TEST_CASE("doctor: a driver that crashes is reported, and the report is complete") {
    const TemporaryFolder folder;
    const std::string manifest = folder
                                     .write("icd.json", R"({"file_format_version": "1.0.0",
                                  "ICD": {"library_path": ")" LAMINA_CRASHING_DRIVER R"(", "api_version": "1.1.0"}})")
                                     .string();
    const Finished f = doctor({{"VK_DRIVER_FILES", manifest}, {"VK_ICD_FILENAMES", manifest}}, {"--device", "cpu"});
    CHECK(f.status == 7);
    CHECK_THAT(problems_of(f),
               matchers::contains("the driver of " + manifest + " cannot be opened: was ended by signal"));
    CHECK(json::parse(f.out).at("self_check").size() == 2);
}
