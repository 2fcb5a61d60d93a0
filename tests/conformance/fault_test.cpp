// Faults that kernels have in the field, and that small cases do not show: each must fail some case that is generated
// for its layer, on every driver.
#include "catch.hpp"
#include "conformance/check.hpp"
#include "drivers.hpp"

#include <map>

using namespace lamina;
using namespace lamina::conformance;

TEST_CASE("the generated cases show what is wrong only with large tensors, batches, folded grids or beyond a tensor",
          "[driver]") {
    const auto driver = test::driver();
    if (!driver || driver->device == nullptr) return;
    const auto plugins = abi::Registry::discover({LAMINA_FAULTY_PLUGINS});
    CheckOptions options;
    options.layers = {"faulty"};
    std::map<std::string, size_t> failed;
    for (const CaseResult &r : check(plugins, check_target(plugins, driver->device), options).results) {
        if (r.status == CaseResult::Status::failed) ++failed[r.variant];
        INFO(r.replay << ": " << r.why);
        CHECK((r.variant != "baseline" || r.status != CaseResult::Status::failed));
    }
    for (const char *fault : {"large", "batch", "folded", "weight_beyond", "x_beyond", "length"}) {
        INFO(fault);
        // Hardware may give zeros beyond a binding, whatever is in the memory there.
        if (driver->name == "gpu" && std::string_view(fault).ends_with("beyond")) continue;
        CHECK(failed[fault] != 0);
    }
}
