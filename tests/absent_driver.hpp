// For tests that find no Vulkan driver.
#pragma once

#include <string>

namespace test {

// Says that the driver is absent and why; the test then returns. CTest reports the program as skipped, or as failed
// when another test of it failed. Where $LAMINA_REQUIRE_DRIVERS ("lavapipe,swiftshader") names the driver, this test
// fails. A test that takes whichever device comes first says "any": one must be there when the list names any driver at
// all.
void report_absent(const std::string &driver, const std::string &why);

} // namespace test
