// The command line as a whole: read, or answered where it asks for help or is wrong.
#pragma once

#include "arguments.hpp"

#include <memory>
#include <optional>
#include <string>

namespace lamina::cli {

class CommandLine {
  public:
    CommandLine(const std::string &name, const std::string &description, const std::string &version,
                const std::string &footer);
    ~CommandLine();
    CommandLine(const CommandLine &) = delete;
    CommandLine &operator=(const CommandLine &) = delete;

    // Of all commands.
    [[nodiscard]] Arguments global() const { return Arguments(*root_); }

    // Fills in the variables of the chosen command's arguments. Returns the exit status where there is nothing left to
    // do: help was asked for, and is on stdout; or the command line is wrong, which stderr says.
    [[nodiscard]] std::optional<int> parse(int argc, char **argv);

  private:
    std::unique_ptr<CLI::App> root_;
};

} // namespace lamina::cli
