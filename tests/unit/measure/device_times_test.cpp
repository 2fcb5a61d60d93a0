// Dispatches timed on every Vulkan device of this machine.
#include "../vulkan/drivers.hpp"

#include "conformance/case_graph.hpp"
#include "plan/program.hpp"
#include "vulkan/device.hpp"

#include "places.hpp"

using namespace lamina;

TEST_CASE("a device times every dispatch of a program, in order, and computes the same results") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const abi::Layer &layer = plugins->layer("log_mel"); // several dispatches that depend on each other
    const auto graph =
        conformance::make_case_graph(layer, conformance::parse_case(*layer.contract, layer.contract->cases[0]));
    const auto instance = test::validated_instance();
    if (instance == nullptr) return;
    for (const uint32_t index : test::usable_devices(*instance)) {
        CAPTURE(instance->devices()[index].name);
        const auto backend = instance->open(index, plugins)->backend(graph.weights);
        std::vector<plan::RunTimes> runs;
        plan::ProgramOptions options;
        const auto plain = backend->compile(graph.plan, options);
        options.timed = [&](const plan::Program &, const plan::RunTimes &times) { runs.push_back(times); };
        const auto timed = backend->compile(graph.plan, options);
        conformance::write_values(*plain, graph);
        conformance::write_values(*timed, graph);
        const std::vector<Tensor> expected = conformance::run_case(*plain, graph);
        CHECK(std::ranges::equal(conformance::run_case(*timed, graph).front().bytes(), expected.front().bytes()));
        CHECK(std::ranges::equal(conformance::run_case(*timed, graph).front().bytes(), expected.front().bytes()));
        REQUIRE(runs.size() == 2);
        for (const plan::RunTimes &run : runs) {
            REQUIRE(run.dispatches.size() >= 3);
            CHECK(run.dispatches.front().begin == 0);
            double end = 0, busy = 0;
            for (const auto &d : run.dispatches) {
                CHECK(!d.kernel.empty());
                CHECK(d.seconds > 0);
                CHECK(d.begin >= end * 0.999); // rounding
                end = d.begin + d.seconds, busy += d.seconds;
            }
            CHECK(busy <= run.seconds * 1.01); // the host waits for all of it
        }
    }
    CHECK(test::messages_of(*instance) == "");
}
