// What the words of a command line are, as far as the description of the commands tells: for completions, and to know
// which words are texts.
#pragma once

#include "description.hpp"

#include <string>
#include <vector>

namespace lamina::cli {

// Where a command line is after the words that it was given. `program` must outlive it.
class Place {
  public:
    explicit Place(const CommandDescription &program) : commands_({&program}) {}

    void pass(const std::string &word);

    [[nodiscard]] const std::vector<const CommandDescription *> &commands() const { return commands_; }
    [[nodiscard]] const ArgumentDescription *option() const { return option_; }
    [[nodiscard]] size_t positionals() const { return positionals_; }
    [[nodiscard]] bool only_positionals() const { return only_positionals_; }
    // An option of the chosen command or of the program; null if there is none of this name.
    [[nodiscard]] const ArgumentDescription *option_named(const std::string &name) const;

  private:
    std::vector<const CommandDescription *> commands_; // from the program to the chosen one
    const ArgumentDescription *option_ = nullptr;      // whose value the next word is
    size_t positionals_ = 0;                           // how many have passed
    bool only_positionals_ = false;                    // "--" has passed
};

} // namespace lamina::cli
