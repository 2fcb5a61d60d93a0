#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

TEST_CASE("new-app: makes a project with the program's name, lists its files, and overwrites nothing") {
    const TemporaryFolder folder;
    const std::filesystem::path project = folder.path() / "made/here";
    const Finished f = run_lamina({"new-app", "my_words", project, "--json"});
    REQUIRE(f.status == 0);
    const auto made = nlohmann::json::parse(f.out);
    CHECK(made["program"] == "my_words");
    REQUIRE(made["files"].size() == 2);
    for (const auto &file : made["files"]) {
        const std::string text = folder.read(std::filesystem::relative(file.get<std::string>(), folder.path()));
        CHECK_THAT(text, matchers::contains("my_words"));
        CHECK(text.find("skeleton") == std::string::npos);
    }
    const Finished again = run_lamina({"new-app", "other", project});
    CHECK(again.status == 2);
    CHECK_THAT(again.err, matchers::contains("nothing is overwritten"));
}

TEST_CASE("new-app: a name that cannot be a program's is refused with the reason") {
    const TemporaryFolder folder;
    for (const auto &[name, why] :
         {std::pair{"My-Words", "lower_case words"}, {"while", "has a meaning"}, {"test", "a target"}}) {
        const Finished f = run_lamina({"new-app", name, folder.path() / "x"});
        CHECK(f.status == 2);
        CHECK_THAT(f.err, matchers::contains(why));
    }
    CHECK_FALSE(std::filesystem::exists(folder.path() / "x"));
}
