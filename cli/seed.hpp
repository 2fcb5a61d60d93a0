// The option --seed, as every command that has one takes it.
#pragma once

#include "arguments.hpp"

#include <cstdint>
#include <string>

namespace lamina::cli {

// Any number of 64 bits. What is no such number is a usage error: it would make another run than the one that was
// meant.
Argument add_seed(const Arguments &command, uint64_t &seed, const std::string &description);

} // namespace lamina::cli
