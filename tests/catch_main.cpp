// main() of every test program. Besides passed and failed there is a third outcome: skipped.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "absent_driver.hpp"
#include "catch.hpp"

#include <cstdlib>
#include <iostream>

namespace {

constexpr int skipped_status = 77; // SKIP_RETURN_CODE in CMakeLists.txt
bool skipped = false;

bool is_required(const std::string &driver) {
    const char *value = std::getenv("LAMINA_REQUIRE_DRIVERS");
    const std::string required = value != nullptr ? value : "";
    if (driver == "any") return !required.empty();
    return ("," + required + ",").find("," + driver + ",") != std::string::npos;
}

} // namespace

namespace test {

void report_absent(const std::string &driver, const std::string &why) {
    if (is_required(driver)) FAIL("LAMINA_REQUIRE_DRIVERS: driver " << driver << " is not there: " << why);
    std::cout << "SKIPPED: driver " << driver << ": " << why << "\n";
    skipped = true;
}

} // namespace test

int main(int argc, char **argv) {
    const int failures = Catch::Session().run(argc, argv);
    if (failures != 0) return 1; // not the number of failures, which could be 77
    return skipped ? skipped_status : 0;
}
