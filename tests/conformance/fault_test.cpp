// Faults that kernels have in the field, and that small cases do not show: each must fail some case that is generated
// for its layer, on every driver.
#include "catch.hpp"
#include "conformance/check.hpp"
#include "drivers.hpp"

#include <map>

using namespace lamina;
using namespace lamina::conformance;

namespace {

// How many cases of the layer each variant fails. The baseline, which is right, must fail none.
std::map<std::string, size_t> failures_of(const std::string &layer, plan::Device &device) {
    CheckOptions options;
    options.layers = {layer};
    std::map<std::string, size_t> out;
    for (const CaseResult &r : check(device, options).results) {
        if (r.status == CaseResult::Status::failed) ++out[r.variant];
        INFO(r.replay << ": " << r.why);
        CHECK((r.variant != "baseline" || r.status != CaseResult::Status::failed));
    }
    return out;
}

} // namespace

TEST_CASE("the generated cases show what is wrong only with large tensors, batches, folded grids or beyond a tensor",
          "[driver]") {
    const auto driver = test::driver();
    if (!driver || driver->device == nullptr) return;
    const auto plugins = abi::Registry::discover({LAMINA_FAULTY_PLUGINS});
    std::map<std::string, size_t> failed =
        failures_of("faulty", *driver->instance->open(driver->device->info().index, plugins));
    for (const char *fault : {"large", "batch", "folded", "weight_beyond", "x_beyond", "length"}) {
        INFO(fault);
        // Hardware may give zeros beyond a binding, whatever is in the memory there.
        if (driver->name == "gpu" && std::string_view(fault).ends_with("beyond")) continue;
        CHECK(failed[fault] != 0);
    }
}

TEST_CASE(
    "the generated cases show what is wrong in a layer of experts: parts of a weight, overflow, ties, many experts",
    "[driver]") {
    const auto driver = test::driver();
    if (!driver || driver->name != "lavapipe") return; // the others show nothing more
    const auto plugins = abi::Registry::discover({LAMINA_FAULTY_PLUGINS});
    std::map<std::string, size_t> failed =
        failures_of("mixture", *driver->instance->open(driver->device->info().index, plugins));
    for (const char *fault : {"window", "overflow", "ties", "many"}) {
        INFO(fault);
        CHECK(failed[fault] != 0);
    }
    // Mesa 25 runs long loops to their end, where Mesa 22 leaves them after 65,535 rounds.
    if (driver->device->info().driver_version.starts_with("Mesa 22")) CHECK(failed["loop"] != 0);
}
