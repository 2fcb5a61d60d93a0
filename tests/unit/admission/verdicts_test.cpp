// A file of verdicts that is shared: no findings are lost.
#include "../abi/test_layer.hpp"
#include "abi/pattern.hpp"
#include "admission/verdicts.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace lamina;
using admission::Verdicts;

namespace {

// A cache of one layer's verdicts.
struct Cache {
    TemporaryFolder folder;
    std::filesystem::path file = folder.path() / "made" / "verdicts.json";
    test::TestLayer made;
    abi::Layer layer = made.layer();

    [[nodiscard]] Verdicts::Known now(const std::string &variant = "tiled") const {
        const Verdicts verdicts(file);
        const auto *found = verdicts.find(layer, variant);
        return found != nullptr ? *found : Verdicts::Known{};
    }
};

Verdicts::Verdict passed(size_t cases) { return {.tried = cases, .passed = cases, .cases = 9, .why = {}}; }
Verdicts::Verdict barred(const std::string &why) { return {.tried = 1, .passed = 0, .cases = 9, .why = why}; }

} // namespace

TEST_CASE("verdicts: each of several that share a file adds its findings") {
    const Cache cache;
    Verdicts first(cache.file), second(cache.file);
    first.set(cache.layer, "tiled", barred("wrong"));
    first.set(cache.layer, "wide", passed(4), "a");
    first.set_fastest(cache.layer, "4x4", "wide");
    first.save();
    second.set(cache.layer, "tiled", passed(3));
    second.set(cache.layer, "wide", passed(2), "b");
    second.set_fastest(cache.layer, "8x8", "baseline");
    second.save();
    CHECK(cache.now().verdict.why == "wrong");
    CHECK(cache.now("wide").verdict.tried == 4);
    CHECK(cache.now("wide").shapes == std::set<std::string>{"a", "b"});
    CHECK(Verdicts(cache.file).fastest(cache.layer, "4x4") == "wide");
    CHECK(Verdicts(cache.file).fastest(cache.layer, "8x8") == "baseline");
    CHECK(second.find(cache.layer, "tiled")->verdict.barred()); // and knows those of the others
    const std::filesystem::directory_iterator files(cache.file.parent_path());
    CHECK(std::distance(begin(files), end(files)) == 1); // nothing else is left behind
}

TEST_CASE("verdicts: those who write at the same moment take turns") {
    const Cache cache;
    constexpr size_t threads = 4, each = 25;
    std::vector<std::thread> all;
    for (size_t t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            Verdicts mine(cache.file);
            for (size_t i = 0; i < each; ++i) {
                mine.set(cache.layer, std::to_string(t) + "-" + std::to_string(i), barred("wrong"));
                (void)mine.save();
            }
        });
    for (std::thread &thread : all) thread.join();
    for (size_t t = 0; t < threads; ++t)
        for (size_t i = 0; i < each; ++i)
            CHECK(cache.now(std::to_string(t) + "-" + std::to_string(i)).verdict.barred());
    const std::filesystem::directory_iterator files(cache.file.parent_path());
    CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("verdicts: those of a fusion are of the layers that it replaces, too") {
    Cache cache;
    abi::Layer member = cache.layer;
    abi::Pattern pattern;
    pattern.members.emplace_back().layer = &member;
    cache.layer.pattern = std::make_shared<const abi::Pattern>(pattern);
    Verdicts verdicts("");
    verdicts.set(cache.layer, "tiled", passed(9));
    CHECK(verdicts.find(cache.layer, "tiled") != nullptr);
    ++member.hash; // another build of that layer
    CHECK(verdicts.find(cache.layer, "tiled") == nullptr);
}

TEST_CASE("verdicts: what counts in this process alone is not in the file") {
    const Cache cache;
    Verdicts verdicts(cache.file);
    verdicts.set(cache.layer, "wide", passed(2));
    verdicts.set(cache.layer, "tiled", passed(1), "a");
    verdicts.set(cache.layer, "tiled", barred("VK_ERROR_UNKNOWN"), "b", Verdicts::Where::here);
    verdicts.save();
    CHECK(verdicts.find(cache.layer, "tiled")->verdict.barred());
    CHECK(verdicts.find(cache.layer, "tiled")->shapes == std::set<std::string>{"a", "b"});
    CHECK_FALSE(cache.now().verdict.barred());
    CHECK(cache.now().shapes == std::set<std::string>{"a"});
    CHECK(cache.now("wide").verdict.tried == 2);
}

TEST_CASE("verdicts: a forgotten verdict stays forgotten, even if others still have it") {
    const Cache cache;
    Verdicts first(cache.file);
    first.set(cache.layer, "tiled", barred("wrong"));
    first.save();
    Verdicts second(cache.file);
    first.forget(cache.layer);
    first.set(cache.layer, "tiled", passed(9));
    first.save();
    second.set(cache.layer, "wide", passed(1));
    second.save();
    CHECK(cache.now().verdict.complete());
    CHECK(cache.now("wide").verdict.tried == 1);
}

TEST_CASE("verdicts: without a file, and with a damaged one, nothing is known and nothing fails") {
    const test::TestLayer none;
    Cache cache;
    Verdicts nowhere("");
    nowhere.set(cache.layer, "tiled", passed(1));
    nowhere.save();
    CHECK(nowhere.find(cache.layer, "tiled")->verdict.tried == 1);
    std::filesystem::create_directories(cache.file.parent_path());
    std::ofstream(cache.file) << "{\"format\": \"lamina-verdicts/9\", \"layers\": {\"te";
    CHECK(cache.now().verdict.tried == 0);
}
