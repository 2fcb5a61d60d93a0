// What a command line says, beside the values of its options.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

// Throws Error(usage) "OPTION WHY" for the first of these options on the command line: one that would change nothing
// was meant to change something. Values from the environment, which are there for all runs, may be idle.
void refuse_given(const CLI::App &command, const std::vector<std::string> &options, const std::string &why);

// An empty word is no value: it would read as an option that was left out.
[[nodiscard]] CLI::Validator not_empty();

// Throws CLI::ParseError for a value in the environment that its option does not take: newer CLI11 leaves it out
// unsaid.
void take_environment(CLI::App &app);

// ", from $LAMINA_RUN_BEAMS" when `fault`, which begins with an option's name, is about a value from the environment.
[[nodiscard]] std::string origin_of(const CLI::App &command, const std::string &fault,
                                    const std::vector<std::string> &arguments);

} // namespace lamina::cli
