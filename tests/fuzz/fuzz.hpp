// A fuzzer reads one kind of file. CONTRIBUTING.md says how to run them.
#pragma once

#include <string_view>

namespace test {

// Reads a file with these contents. Anything but success and lamina::Error is a defect.
void read(std::string_view input);

} // namespace test
