// What happens to a process says nothing about a kernel: a death, a lack of memory or an interruption bars nothing.
#include "../cli/process.hpp"
#include "absent_driver.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

using namespace lamina;

namespace {

// The command on a model of the layer `unlucky`.
class Unlucky {
  public:
    Unlucky() {
        std::ofstream(folder_.path() / "model.json") << R"({"format": "lamina/1", "name": "unlucky", "graphs": {"run": {
            "inputs": {"x": {"dtype": "f32", "dims": "N C"}},
            "layers": [{"name": "only", "type": "unlucky", "inputs": {"x": "x"}}], "outputs": {"y": "only"}}}})";
        const std::vector<float> values{1, 2, 3, 4};
        write_npy(folder_.path() / "x.npy", Tensor::of({2, 2}, values));
    }
    [[nodiscard]] std::vector<std::string> run_on(const std::string &device) const {
        return {"run",          folder_.path().string(), "--input", "x=" + (folder_.path() / "x.npy").string(),
                "--plugin-dir", WRONG_PLUGINS,           "--quiet", "--device",
                device};
    }
    [[nodiscard]] Surroundings when(const std::string &what) const {
        return {
            .environment = {{"XDG_CACHE_HOME", (folder_.path() / "cache").string()}, {"LAMINA_TEST_UNLUCKY", what}}};
    }
    [[nodiscard]] std::string cache() const { return (folder_.path() / "cache").string(); }

  private:
    TemporaryFolder folder_;
};

} // namespace

TEST_CASE("a process that dies or runs out of memory while it proves a kernel does not bar it") {
    if (run_lamina({"devices"}).out.find("vulkan:0") == std::string::npos)
        return test::report_absent("any", "no Vulkan device");
    const Unlucky unlucky;
    for (const auto &[what, status] : {std::pair("killed", 128 + SIGKILL), std::pair("memory", 5)})
        for (int again = 0; again < 3; ++again) {
            const Finished f = run_lamina(unlucky.run_on("vulkan:0"), unlucky.when(what));
            INFO(f.err);
            CHECK(f.status == status);
            if (status == 5) CHECK_THAT(f.err, matchers::contains("out of memory"));
        }
    const Finished lucky = run_lamina(unlucky.run_on("vulkan:0"), unlucky.when(""));
    INFO(lucky.err);
    CHECK(lucky.status == 0);
    CHECK(lucky.err.empty());
    CHECK_THAT(lucky.out, matchers::contains("8")); // 2 x 4
}

TEST_CASE("a signal ends a run whatever it is doing") {
    const Unlucky unlucky;
    for (const int signal : {SIGINT, SIGTERM}) {
        Running run(unlucky.run_on("cpu"), unlucky.when("waits"));
        REQUIRE(run.line() == "waiting"); // for ever
        CHECK(run.finish(signal) == 128 + signal);
    }
}

TEST_CASE("a second signal ends a run at once, whichever the first was") {
    const Unlucky unlucky;
    for (const auto &[first, second] : {std::pair(SIGINT, SIGINT), std::pair(SIGINT, SIGTERM)}) {
        Running run(unlucky.run_on("cpu"), unlucky.when("waits"));
        REQUIRE(run.line() == "waiting"); // for ever
        run.send(first);
        const auto began = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(std::chrono::milliseconds(50)); // two of the same might become one
        CHECK(run.finish(second) == 128 + second);
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::milliseconds(1900)); // the first takes 2 s
    }
}
