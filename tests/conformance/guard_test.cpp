// The basis of check(), on a real device: a kernel that writes outside its output, or leaves part of it unwritten, is
// caught. The layer is layer_norm with its own kernel and a plan with a wrong number of rows.
#include "conformance/case_graph.hpp"

#include "catch.hpp"
#include "drivers.hpp"
#include "wrong_layer.hpp"

#include <lamina/proof.hpp>

#include <algorithm>
#include <cmath>

using namespace lamina;
using namespace lamina::conformance;

namespace {

struct Outcome {
    std::string overrun;
    std::vector<float> result;
};

Outcome run_with(int32_t extra, plan::Device &device) {
    const abi::Layer layer = test::layer_norm_with({.extra_rows = extra});
    const CaseGraph graph = make_case_graph(layer, parse_case(*layer.contract, "B=2 T=4 C=64"));
    const auto backend = device.backend(graph.weights);
    plan::ProgramOptions options;
    options.guard = true;
    options.variants = {"baseline"};
    const auto program = backend->compile(graph.plan, options);
    write_values(*program, graph);
    const Tensor result = run_case(*program, graph).front();
    return {program->overrun(), {result.f32().begin(), result.f32().end()}};
}

} // namespace

TEST_CASE("a kernel that stays inside its output leaves the guards alone", "[driver]") {
    const auto driver = test::driver();
    if (!driver || driver->device == nullptr) return;
    CHECK(run_with(0, *test::device_of(*driver)).overrun.empty());
}

TEST_CASE("a kernel that writes one row too many is caught, although its output is right", "[driver]") {
    const auto driver = test::driver();
    // Hardware may drop writes outside of a binding. Then there is nothing to see, and no harm.
    if (!driver || driver->device == nullptr || driver->name == "gpu") return;
    const Outcome outcome = run_with(1, *test::device_of(*driver));
    CHECK(outcome.overrun == "'y'");
    CHECK(std::none_of(outcome.result.begin(), outcome.result.end(), [](float v) { return std::isnan(v); }));
}

TEST_CASE("a row that a kernel never writes is NaN, in the first run and in every other", "[driver]") {
    const auto driver = test::driver();
    if (!driver || driver->device == nullptr) return;
    const Outcome outcome = run_with(-1, *test::device_of(*driver));
    CHECK(outcome.overrun.empty());
    const auto nan = std::count_if(outcome.result.begin(), outcome.result.end(), [](float v) { return std::isnan(v); });
    CHECK(nan == 64);
    CHECK(std::isnan(outcome.result.back()));
}
