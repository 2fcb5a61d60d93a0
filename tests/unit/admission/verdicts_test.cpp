// One file of verdicts, and several processes: what one has found the others do not lose, and who ends in the middle of
// a case is counted, once, whatever its process id.
#include "../abi/test_layer.hpp"
#include "admission/verdicts.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <functional>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

using namespace lamina;
using admission::Verdicts;

namespace {

// A cache of one layer's verdicts.
struct Cache {
    TemporaryFolder folder;
    std::filesystem::path file = folder.path() / "made" / "verdicts.json";
    test::TestLayer made;
    abi::Layer layer = made.layer();

    [[nodiscard]] Verdicts::Admitted now(const std::string &variant = "tiled") const {
        const Verdicts verdicts(file);
        const auto *found = verdicts.find(layer, variant);
        return found != nullptr ? *found : Verdicts::Admitted{};
    }
    // What it is left with when there is nothing more to do.
    [[nodiscard]] size_t files() const {
        const std::filesystem::directory_iterator all(file.parent_path());
        return static_cast<size_t>(std::distance(begin(all), end(all)));
    }
    // Another process does this, and ends in the middle.
    void process_that_ends(const std::function<void(Verdicts &)> &action) const {
        const pid_t child = fork();
        if (child == 0) {
            Verdicts verdicts(file);
            action(verdicts);
            _exit(0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(status == 0);
    }
    void process_that_ends_in(const std::string &text) const {
        process_that_ends([&](Verdicts &verdicts) {
            const auto running = verdicts.begin(layer, "tiled", text);
            _exit(0);
        });
    }
};

Verdicts::Admitted passed(size_t cases, std::set<std::string> shapes = {}) {
    return {.tried = cases, .passed = cases, .cases = 9, .why = {}, .shapes = std::move(shapes)};
}
Verdicts::Admitted barred(const std::string &why) {
    return {.tried = 1, .passed = 0, .cases = 9, .why = why, .shapes = {}};
}

} // namespace

TEST_CASE("verdicts: of several that share a file each adds what it has found") {
    const Cache cache;
    Verdicts first(cache.file), second(cache.file);
    first.set(cache.layer, "tiled", barred("wrong"));
    first.set(cache.layer, "wide", passed(4, {"a"}));
    first.set_fastest(cache.layer, "4x4", "wide");
    first.save();
    second.set(cache.layer, "tiled", passed(3));
    second.set(cache.layer, "wide", passed(2, {"b"}));
    second.set_fastest(cache.layer, "8x8", "baseline");
    second.save();
    CHECK(cache.now().why == "wrong");
    CHECK(cache.now("wide").tried == 4);
    CHECK(cache.now("wide").shapes == std::set<std::string>{"a", "b"});
    CHECK(Verdicts(cache.file).fastest(cache.layer, "4x4") == "wide");
    CHECK(Verdicts(cache.file).fastest(cache.layer, "8x8") == "baseline");
    CHECK(second.find(cache.layer, "tiled")->barred()); // and has heard of the others'
}

TEST_CASE("verdicts: what is forgotten stays so, though others still know it") {
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
    CHECK(cache.now().complete());
    CHECK(cache.now("wide").tried == 1);
}

TEST_CASE("verdicts: who reads and writes while a case is running elsewhere takes nobody for dead") {
    const Cache cache;
    for (int pair = 0; pair < 3; ++pair) {
        Verdicts first(cache.file);
        std::optional<Verdicts> second;
        {
            const auto running = first.begin(cache.layer, "tiled", "B=1");
            second.emplace(cache.file);
            second->set(cache.layer, "wide", passed(1));
            second->save();
        }
        first.set(cache.layer, "tiled", passed(1));
        first.save();
        second->set(cache.layer, "wide", passed(2));
        second->save();
    }
    CHECK(Verdicts(cache.file).fallen().empty());
    CHECK_FALSE(cache.now().barred());
    CHECK(cache.now().tried == 1);
    CHECK(cache.files() == 2); // the verdicts and their lock
}

TEST_CASE("verdicts: the second time that a process ends in a case bars the variant, and one line says so") {
    const Cache cache;
    cache.process_that_ends_in("B=1");
    CHECK_FALSE(cache.now().barred());
    CHECK_FALSE(cache.now().barred()); // it is counted once
    cache.process_that_ends_in("B=2");
    CHECK_FALSE(cache.now().barred()); // another case's death is its own
    cache.process_that_ends_in("B=2");
    const Verdicts third(cache.file);
    REQUIRE(third.fallen().size() == 1);
    CHECK(third.fallen()[0].layer == "test_layer");
    CHECK(third.fallen()[0].variant == "tiled");
    CHECK_THAT(third.fallen()[0].why, matchers::contains("twice a process ended while it ran its case \"B=2\""));
    CHECK(Verdicts(cache.file).fallen().empty());
    CHECK(cache.now().barred());
    CHECK(cache.files() == 2);
}

TEST_CASE("verdicts: processes that end in a case at the same time count once: somebody has ended them") {
    const Cache cache;
    cache.process_that_ends([&](Verdicts &) { cache.process_that_ends_in("B=1"); });
    CHECK_FALSE(cache.now().barred());
    cache.process_that_ends([&](Verdicts &verdicts) {
        const auto running = verdicts.begin(cache.layer, "tiled", "B=2");
        const auto other = verdicts.begin(cache.layer, "tiled", "B=2");
        _exit(0);
    });
    CHECK_FALSE(cache.now().barred());
    cache.process_that_ends_in("B=2");
    CHECK(cache.now().barred());
}

TEST_CASE("verdicts: a case that is survived after all takes its death back") {
    const Cache cache;
    for (int again = 0; again < 3; ++again) {
        cache.process_that_ends_in("B=1");
        Verdicts verdicts(cache.file);
        (void)verdicts.begin(cache.layer, "tiled", "B=1");
        verdicts.set(cache.layer, "tiled", passed(1));
        verdicts.save();
    }
    CHECK_FALSE(cache.now().barred());
}

TEST_CASE("verdicts: what is known is saved before a case that ends the process") {
    const Cache cache;
    cache.process_that_ends([&](Verdicts &verdicts) {
        verdicts.set(cache.layer, "tiled", passed(5));
        const auto running = verdicts.begin(cache.layer, "tiled", "B=1");
        _exit(0);
    });
    CHECK(cache.now().tried == 5);
}

TEST_CASE("verdicts: nobody waits long for one who keeps the file, and nothing is lost by that") {
    const Cache cache;
    Verdicts verdicts(cache.file);
    verdicts.set(cache.layer, "tiled", passed(1));
    verdicts.save();
    {
        const FileLock lock(cache.file.string() + ".lock", FileLock::Open::any);
        REQUIRE(lock.held());
        const auto began = std::chrono::steady_clock::now();
        for (size_t tried = 2; tried < 9; ++tried) {
            verdicts.set(cache.layer, "tiled", passed(tried));
            verdicts.save();
        }
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3));
        CHECK(cache.now().tried == 1);
    }
    verdicts.save();
    CHECK(cache.now().tried == 8);
}

TEST_CASE("verdicts: without a file, and with a damaged one, nothing is known and nothing fails") {
    const test::TestLayer none;
    Cache cache;
    Verdicts nowhere("");
    nowhere.set(cache.layer, "tiled", passed(1));
    (void)nowhere.begin(cache.layer, "tiled", "B=1");
    nowhere.save();
    CHECK(nowhere.find(cache.layer, "tiled")->tried == 1);
    std::filesystem::create_directories(cache.file.parent_path());
    std::ofstream(cache.file) << "{\"format\": \"lamina-verdicts/5\", \"layers\": {\"te";
    CHECK(cache.now().tried == 0);
}
