// What a command line says, and what the environment says where it says nothing.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

// The variable that stands for an option: LAMINA_DEVICE for --device, LAMINA_RUN_GRAPH for --graph of `lamina run`.
// Empty for arguments, --help and --version, which have none.
[[nodiscard]] std::string variable_of(const CLI::App &app, const CLI::Option &option);

// Sets the options of the chosen command, and the global ones, that the command line neither gives nor excludes, by
// their variables; an empty one is as good as none. CLI11's own way fails on variables of other commands, or leaves out
// unsaid what an option does not take. Throws Error(usage), which names the variable.
void take_environment(CLI::App &lamina);

// Whether one of these options is on the command line.
[[nodiscard]] bool is_given(const CLI::App &command, const std::vector<std::string> &options);

// Throws Error(usage) "OPTION WHY" for the first of these options on the command line: one that would change nothing
// was meant to change something.
void refuse_given(const CLI::App &command, const std::vector<std::string> &options, const std::string &why);

// Variables are there for all runs: one that this run has no use for is idle. Takes an option's value back to `unset`
// where it comes from the environment.
[[nodiscard]] bool is_from_environment(const CLI::App &command, const std::string &option);
template <class Value>
void leave_idle(const CLI::App &command, const std::string &option, Value &value, Value unset = {}) {
    if (is_from_environment(command, option)) value = std::move(unset);
}

// ", from $LAMINA_RUN_BEAMS" when `fault` names an option whose value is from the environment.
[[nodiscard]] std::string origin_of(const CLI::App &command, const std::string &fault);

// A number in decimal notation within bounds, both of them allowed; without a fraction where the bounds are whole.
template <class Number> [[nodiscard]] CLI::Validator within(Number least, Number most);

// An empty word is no value: it would read as an option that was left out.
[[nodiscard]] CLI::Validator not_empty();

} // namespace lamina::cli
