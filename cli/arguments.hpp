// Describes the arguments of commands, and tells which were given. CLI11 parses them. It is slow to compile, so only
// the files that implement this include it.
#pragma once

#include "description.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
class Option;
} // namespace CLI

namespace lamina::cli {

// Describes one option or positional argument. All functions return the same argument.
class Argument {
  public:
    explicit Argument(CLI::Option *option) : option_(option) {}

    Argument required();
    Argument shows_default(); // --help shows the value that the variable has now
    Argument separated_by(char separator);
    Argument excludes(Argument other);

    // ---- What its value may be ----
    Argument not_empty(); // for options whose empty value means that they were left out
    // A decimal number; both bounds are inclusive. If they are integers, so is the number.
    Argument within(int64_t least, int64_t most);
    Argument within(uint64_t least, uint64_t most);
    Argument within(double least, double most);

  private:
    CLI::Option *option_;
};

// The arguments of one command. Copies refer to the same command. Parsing writes values into the variables that are
// given here, which must still exist then. Names are like "-o,--output"; a type is what --help calls the value.
class Arguments {
  public:
    explicit Arguments(CLI::App &command) : command_(&command) {}

    [[nodiscard]] Arguments command(const std::string &name, const std::string &description) const; // a subcommand
    [[nodiscard]] Arguments hidden() const; // this command is neither in --help nor in the manual
    void require_command() const;
    void footer(const std::string &text) const; // of --help

    Argument positional(const std::string &name, std::string &value, const std::string &description) const;
    Argument positional(const std::string &name, std::filesystem::path &value, const std::string &description) const;
    Argument positional(const std::string &name, std::vector<std::string> &values,
                        const std::string &description) const;

    Argument flag(const std::string &names, bool &value, const std::string &description) const;
    Argument option(const std::string &names, std::string &value, const std::string &type,
                    const std::string &description) const;
    Argument option(const std::string &names, std::filesystem::path &value, const std::string &type,
                    const std::string &description) const;
    Argument option(const std::string &names, int64_t &value, const std::string &type,
                    const std::string &description) const;
    Argument option(const std::string &names, uint64_t &value, const std::string &type,
                    const std::string &description) const;
    Argument option(const std::string &names, double &value, const std::string &type,
                    const std::string &description) const;
    Argument option(const std::string &names, std::optional<int64_t> &value, const std::string &type,
                    const std::string &description) const;
    Argument option(const std::string &names, std::optional<double> &value, const std::string &type,
                    const std::string &description) const;
    // One of these words; --help shows all of them as its type.
    Argument choice(const std::string &names, std::string &value, const std::vector<std::string> &words,
                    const std::string &description) const;
    // May be repeated.
    Argument option(const std::string &names, std::vector<std::string> &values, const std::string &type,
                    const std::string &description) const;
    Argument option(const std::string &names, std::vector<std::filesystem::path> &values, const std::string &type,
                    const std::string &description) const;

    [[nodiscard]] CommandDescription description() const;

    // ---- After parsing ----
    [[nodiscard]] std::string name() const; // "plot pe"
    [[nodiscard]] bool chosen() const;      // whether this is the command to run

    // Whether an option (the command's own or a global one) is on the command line.
    [[nodiscard]] bool is_given(const std::string &option) const;
    // A message of the library, which calls settings as C++ does ("min_length: ..."), with the option's name in its
    // place if it is on the command line ("--min-length: ...").
    [[nodiscard]] std::string in_words_of_options(const std::string &message) const;

  private:
    CLI::App *command_;
};

// Throws Error(usage) "OPTION WHY" for the first of these options on the command line. An option that would have no
// effect is an error, because the user expects one.
void refuse_given(const Arguments &command, const std::vector<std::string> &options, const std::string &why);

} // namespace lamina::cli
