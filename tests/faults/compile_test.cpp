// compile() of compile.hpp, with a driver that refuses a kernel.
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "places.hpp"

#include <lamina/compile.hpp>

using namespace lamina;

TEST_CASE("faults: a kernel that the driver refuses is in the report, and all others are compiled") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    std::string messages;
    const RuntimeOptions how{.plugin_folders = {LAMINA_PLUGIN_DIR},
                             .validation = true,
                             .cache = false,
                             .notify = [&](const std::string &line) { messages += line + "\n"; }};
    const Runtime runtime(how);
    const Device device = runtime.device("vulkan:0");
    const CompileOptions options{.layers = {"layer_norm"}, .own_cases_only = true};
    size_t begun = 0;
    CompileOptions counted = options;
    counted.begin = [&](const std::string &what, size_t done, size_t all) {
        CHECK_THAT(what, matchers::contains("layer_norm, layer_norm"));
        CHECK(done < all);
        ++begun;
    };
    const CompileReport sound = compile(runtime, device, counted);
    CHECK(sound.passed());
    CHECK(begun == sound.kernels.size());
    REQUIRE(sound.kernels.size() > 2);

    // The same runtime keeps what it has compiled, so another one is needed.
    const Runtime other(how);
    test::fail(*faults, "vkCreateComputePipelines", 2, VK_ERROR_UNKNOWN);
    const CompileReport report = compile(other, other.device("vulkan:0"), options);
    test::heal(*faults);
    CHECK_FALSE(report.passed());
    REQUIRE(report.kernels.size() == sound.kernels.size());
    size_t refused = 0;
    for (size_t i = 0; i < report.kernels.size(); ++i) {
        CHECK(report.kernels[i].constants == sound.kernels[i].constants);
        if (report.kernels[i].error.empty()) continue;
        ++refused;
        CHECK_THAT(report.kernels[i].error, matchers::contains("kernel '" + report.kernels[i].kernel + "'") &&
                                                matchers::contains("VK_ERROR_UNKNOWN"));
    }
    CHECK(refused == 1);
    CHECK(messages.empty());
}

TEST_CASE("what compilers say is found under the names of each") {
    const auto figures = [](const std::map<std::string, double> &statistics) {
        CompiledKernel kernel;
        kernel.statistics = statistics;
        return kernel.figures();
    };
    CHECK(figures({{"VGPRs", 48}, {"GPRs", 7}}).registers == 48);
    CHECK(figures({{"GPRs", 95}}).registers == 47.5); // of 16 bits
    CHECK(figures({{"Registers used", 12}}).registers == 48);
    CHECK(figures({{"Spills to memory", 3}}).spills == 3);
    CHECK(figures({{"Threads", 1024}}).subgroups == 32);
    CHECK(figures({{"Instruction Count", 588}}).instructions == 588);
    CHECK_FALSE(figures({{"Hash", 1}}).spills.has_value());
}
