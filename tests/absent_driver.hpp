// For tests that find no Vulkan driver.
#pragma once

#include <string>

namespace test {

// Reports that a driver is missing, and why; the test then returns. CTest reports the program as skipped, or as failed
// if another of its tests failed. If $LAMINA_REQUIRE_DRIVERS ("lavapipe,swiftshader") names the driver, this test
// fails. A test that uses the first device found passes "any": at least one must exist if the variable names any driver
// at all.
void report_absent(const std::string &driver, const std::string &why);

} // namespace test
