#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace fs = std::filesystem;

namespace {

// The error of `new-plugin` for a name; nothing is created.
std::string refusal(const std::string &name, const fs::path &folder) {
    const Finished f = run_lamina({"new-plugin", name, "--out-of-tree", folder});
    CHECK(f.status == 2);
    CHECK(f.out.empty());
    CHECK_FALSE(fs::exists(folder / (name + ".cpp")));
    return f.err;
}

} // namespace

TEST_CASE("new-plugin --out-of-tree: makes a project, lists its files, and replaces every name by the layer's") {
    const TemporaryFolder folder;
    const fs::path project = folder.path() / "made/here";
    const Finished f = run_lamina({"new-plugin", "group_norm", "--out-of-tree", project, "--json"});
    REQUIRE(f.status == 0);
    const auto made = nlohmann::json::parse(f.out);
    CHECK(made["layer"] == "group_norm");
    CHECK(made["files"].size() == 5);
    for (const auto &file : made["files"]) {
        const std::string path = fs::relative(file.get<std::string>(), folder.path());
        INFO(path);
        const std::string text = folder.read(path);
        CHECK_THAT(text, matchers::contains("group_norm"));
        CHECK(text.find("skeleton") == std::string::npos);
        CHECK(text.find("Skeleton") == std::string::npos);
    }
    CHECK_THAT(folder.read("made/here/group_norm.cpp"), matchers::contains("LAMINA_PLUGIN(GroupNorm)"));
    CHECK_THAT(f.err, matchers::contains("lamina check group_norm"));
}

TEST_CASE("new-plugin: a name that cannot be a layer's is refused with the reason") {
    const TemporaryFolder folder;
    for (const char *name : {"GroupNorm", "9norm", "group-norm", "group__norm", "_norm", "norm_", "../norm", "größe"})
        CHECK_THAT(refusal(name, folder.path() / "x"), matchers::contains("lower_case words"));
    for (const char *name : {"float", "plan", "headers"})
        CHECK_THAT(refusal(name, folder.path() / "x"), matchers::contains("has a meaning"));
    CHECK_THAT(refusal("layer_norm", folder.path() / "x"), matchers::contains("lamina_layer_norm.so"));
    CHECK_FALSE(fs::exists(folder.path() / "x"));
}

TEST_CASE("new-plugin: nothing is overwritten") {
    const TemporaryFolder folder;
    folder.write("notes.txt", "mine");
    CHECK_THAT(refusal("group_norm", folder.path()), matchers::contains("nothing is overwritten"));
    CHECK_THAT(refusal("group_norm", folder.path() / "notes.txt"), matchers::contains("nothing is overwritten"));
    CHECK(folder.read("notes.txt") == "mine");
    CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("new-plugin: if the folder is not writable, nothing is left behind") {
    const Finished f = run_lamina({"new-plugin", "group_norm", "--out-of-tree", "/proc/group_norm"});
    CHECK(f.status == 1);
    CHECK_THAT(f.err, matchers::contains("no layer was created"));
    CHECK_FALSE(fs::exists("/proc/group_norm"));
}
