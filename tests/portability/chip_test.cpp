// Compiles the kernels with AMD's compiler.
#include "chip.hpp"

#include "absent_driver.hpp"
#include "catch.hpp"

#include <cstdlib>
#include <iostream>

using namespace portability;

namespace {

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The chip that this run of the program tests, $LAMINA_CHIP. Null if there is none: the test is then skipped.
std::unique_ptr<Chip> chip() {
    const std::string name = variable("LAMINA_CHIP");
    if (name.empty()) return nullptr;
    std::string why_not;
    auto opened = Chip::open(name, why_not);
    if (opened != nullptr) return opened;
    test::report_absent("radv", name + ": " + why_not);
    return nullptr;
}

} // namespace

TEST_CASE("every kernel compiles for the chip and keeps its values in registers", "[chip]") {
    const auto opened = chip();
    if (opened == nullptr) return;
    const std::vector<Build> builds = builds_on(opened->capabilities());
    REQUIRE_FALSE(builds.empty());
    for (const Build &build : builds) {
        INFO(build.text());
        try {
            const Statistics s = opened->compile(build);
            INFO(s.spilled_vector << " vector registers spilled, " << s.scratch_bytes << " bytes of scratch");
            CHECK_FALSE(s.spills());
            CHECK(s.vector_registers != 0);
        } catch (const lamina::Error &e) {
            FAIL_CHECK(e.what());
        }
    }
    std::cout << variable("LAMINA_CHIP") << ", " << opened->driver() << ": " << builds.size() << " builds\n";
}
