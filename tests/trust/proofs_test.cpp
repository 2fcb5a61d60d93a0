// When kernels are proved, and what becomes of a proof that is stopped.
#include "catch.hpp"
#include "wrong_layers.hpp"

#include <functional>
#include <mutex>
#include <set>
#include <thread>

using namespace lamina;
using namespace test;

TEST_CASE("a proof reports progress and can be stopped between two cases; its findings are kept") {
    const auto run_with = [&](const TemporaryFolder &cache, const std::function<void(const std::string &)> &proving) {
        setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
        RuntimeOptions options;
        options.plugin_folders = {WRONG_PLUGINS, LAMINA_PLUGIN_DIR};
        options.proving = proving;
        options.proving_time = std::chrono::hours(1);
        const Runtime runtime(options);
        if (const auto device = first_vulkan(runtime))
            (void)runtime.session(runtime.load(model_of("wrong_always")), *device).run("run", {{"x", ramp(3, 40)}});
    };
    // Without those of the wrong variant: how many of them begin before one has failed depends on the threads.
    const auto prove_all = [&](const TemporaryFolder &cache) {
        std::multiset<std::string> all;
        run_with(cache, [&](const std::string &what) {
            const std::string variant = what.substr(0, what.find(':'));
            if (variant != "wrong_always, fast") all.insert(variant);
        });
        return all;
    };
    const TemporaryFolder one, other;
    const std::multiset<std::string> whole = prove_all(one);
    if (whole.empty()) return; // no device
    std::multiset<std::string> ended;
    struct Enough {};
    const auto end_after_two = [&](const std::string &what) {
        if (ended.size() == 2) throw Enough();
        ended.insert(what.substr(0, what.find(':')));
    };
    CHECK_THROWS_AS(run_with(other, end_after_two), Enough);
    CHECK(ended.size() == 2);
    ended.merge(prove_all(other));
    CHECK(ended == whole);
}

TEST_CASE("a run does not wait for what it does not require, which is proved in the background") {
    const TemporaryFolder cache;
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    std::mutex mutex;
    std::vector<std::string> notices;
    std::set<std::string> waited_for;
    RuntimeOptions options;
    options.plugin_folders = {WRONG_PLUGINS, LAMINA_PLUGIN_DIR};
    options.proving = [&](const std::string &what) { waited_for.insert(what.substr(0, what.find(':'))); };
    options.notify = [&](const std::string &notice) {
        const std::lock_guard lock(mutex);
        notices.push_back(notice);
    };
    const Runtime runtime(options);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const Model model = runtime.load(
        ModelDescription{.name = "alone",
                         .json = R"({"format": "lamina/1", "name": "alone", "summary": "", "graphs": {"run": {
                "inputs": {"x": {"dtype": "f32", "dims": "N C"}},
                "layers": [{"name": "only", "type": "wrong_always", "inputs": {"x": "x"}}],
                "outputs": {"y": "only"}}}})",
                         .weights = {},
                         .vocabularies = {}});
    Session session = runtime.session(model, *device);
    const TensorMap inputs{{"x", ramp(3, 40)}};
    const Tensor expected = runtime.session(model, runtime.device("reference")).run("run", inputs).at("y");
    CHECK(agree(session.run("run", inputs).at("y"), expected));
    CHECK(waited_for == std::set<std::string>{"", "wrong_always, baseline"}); // "": that is over

    const auto barred = [&] {
        const std::lock_guard lock(mutex);
        return !notices.empty();
    };
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
         !barred() && std::chrono::steady_clock::now() < end;)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::lock_guard lock(mutex);
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], matchers::contains("layer 'wrong_always': variant 'fast' is barred on " + device->name));
}

TEST_CASE("the second variant of every layer is proved before the third of any, because time may end before") {
    const TemporaryFolder cache;
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    struct Enough {};
    std::set<std::string> begun;
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.proving_time = std::chrono::hours(1);
    options.proving = [&](const std::string &what) {
        const std::string variant = what.substr(0, what.find(':'));
        if (variant == "layer_norm, subgroup") throw Enough();
        begun.insert(variant);
    };
    const Runtime runtime(options);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const Model model = runtime.load(
        ModelDescription{.name = "two",
                         .json = R"({"format": "lamina/1", "name": "two", "summary": "", "graphs": {"run": {
                "inputs": {"x": {"dtype": "f32", "dims": "N C"}},
                "layers": [{"name": "first", "type": "linear", "inputs": {"x": "x"}},
                           {"name": "second", "type": "layer_norm"}],
                "outputs": {"y": "second"}}}})",
                         .weights = {{"first.weight", ramp(40, 40)}},
                         .vocabularies = {}});
    Session session = runtime.session(model, *device);
    CHECK_THROWS_AS(session.run("run", {{"x", ramp(3, 40)}}), Enough);
    begun.erase("");
    CHECK(begun == std::set<std::string>{"layer_norm, baseline", "linear, baseline", "linear, tiled"});
}
