// Parses the whole command line; prints the help if it asks for it, or an error if it is wrong.
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

    // The options of all commands.
    [[nodiscard]] Arguments global() const { return Arguments(*root_); }

    // Fills in the variables of the chosen command's arguments. Returns an exit status if there is nothing left to do:
    // after printing the help on stdout, or an error on stderr.
    [[nodiscard]] std::optional<int> parse(int argc, char **argv);

  private:
    std::unique_ptr<CLI::App> root_;
};

} // namespace lamina::cli
