// Of several variants that are right, the fastest is used: which one it is, is measured a little in every process.
#include "catch.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"
#include "vulkan_devices.hpp"

#include <lamina/lamina.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace lamina;

namespace {

using Clock = std::chrono::steady_clock;

// Runs a layer whose two variants are right for tensors of three shapes. Returns how long that took.
Clock::duration run_all(const RuntimeOptions &options) {
    const Runtime runtime(options);
    const Model model = runtime.load(
        ModelDescription{.name = "alone",
                         .json = R"({"format": "lamina/1", "name": "alone", "summary": "", "graphs": {"run": {
                "inputs": {"x": {"dtype": "f32", "dims": "N C"}},
                "layers": [{"name": "only", "type": "wrong_when_many", "inputs": {"x": "x"}}],
                "outputs": {"y": "only"}}}})",
                         .weights = {},
                         .vocabularies = {}});
    Session session = runtime.session(model, test::vulkan_devices(runtime).front());
    (void)session.run("run", {{"x", Tensor(TensorType{DType::f32, {1, 40}})}}); // opens the device
    const auto began = Clock::now();
    for (const int64_t rows : {2, 3, 4}) (void)session.run("run", {{"x", Tensor(TensorType{DType::f32, {rows, 40}})}});
    return Clock::now() - began;
}

nlohmann::json read(const std::filesystem::path &file) { return nlohmann::json::parse(std::ifstream(file)); }

// How many steps have been measured.
size_t measured(const nlohmann::json &verdicts) {
    size_t all = 0;
    for (const auto &layer : verdicts.at("layers")) all += layer.at("fastest").size();
    return all;
}

} // namespace

TEST_CASE("a process measures the variants of several steps, not only of the first") {
    const TemporaryFolder cache;
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    RuntimeOptions options;
    options.plugin_folders = {WRONG_PLUGINS, LAMINA_PLUGIN_DIR};
    options.proving_time = std::chrono::hours(1);
    if (test::vulkan_devices(Runtime(options)).empty()) return;
    run_all(options);

    std::filesystem::path verdicts;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(cache.path()))
        if (entry.path().filename().string().starts_with("verdicts-")) verdicts = entry.path();
    REQUIRE(!verdicts.empty());
    nlohmann::json json = read(verdicts);
    CHECK(measured(json) == 4);
    for (auto &layer : json.at("layers")) layer.at("fastest").clear();
    std::ofstream(verdicts) << json;

    options.proving_time = {};
    const auto took = run_all(options);
    const bool slow = took > std::chrono::milliseconds(100); // so that one may have taken all the time that there is
    CHECK(measured(read(verdicts)) >= (slow ? 1 : 4));
}
