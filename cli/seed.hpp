// The option --seed, as every command that has one takes it.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <cstdint>
#include <string>

namespace lamina::cli {

// Any number of 64 bits. What is no such number is a usage error: it would make another run than the one that was
// meant.
CLI::Option *add_seed(CLI::App &app, uint64_t &seed, const std::string &description);

} // namespace lamina::cli
