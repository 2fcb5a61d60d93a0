// The option --seed, the same for all commands that have one.
#pragma once

#include "arguments.hpp"

#include <cstdint>
#include <string>

namespace lamina::cli {

// Any unsigned 64-bit number; anything else is a usage error.
Argument add_seed(const Arguments &command, uint64_t &seed, const std::string &description);

} // namespace lamina::cli
