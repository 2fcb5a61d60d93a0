// The kernels of the build, and the cases on which they are interpreted.
#pragma once

#include "built_plugins.hpp"
#include "interpreter/device.hpp"

#include <set>
#include <string>
#include <vector>

namespace test {

// Multiplications of a case, each of which takes some ten instructions.
inline constexpr double most_work = 3e6;

// The cases that a layer declares and that take at most so much work, the smallest first.
[[nodiscard]] std::vector<std::string> cases_of(const lamina::abi::Layer &layer, double work = most_work);

// The kernels that variants dispatch in these cases.
[[nodiscard]] std::set<uint32_t> kernels_in(const std::vector<std::string> &cases, const lamina::abi::Layer &layer,
                                            lamina::plan::Device &device);

} // namespace test
