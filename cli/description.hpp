// What commands and their arguments are, as data: --help, the manual pages and the completions of shells are made of
// it.
#pragma once

#include <string>
#include <vector>

namespace lamina::cli {

struct ArgumentDescription {
    std::vector<std::string> names; // of an option, "-d" before "--device"; of a positional argument, "MODEL"
    std::string value;              // what its value is called: "FILE", "f32|f16"; empty: a flag, which has none
    std::string text;               // with the default
    bool required = false, many = false;
};

struct CommandDescription {
    std::string name; // "plot pe"; of the program, "lamina"
    std::string text, footer;
    std::vector<ArgumentDescription> positionals, options;
    std::vector<CommandDescription> commands; // without hidden ones

    [[nodiscard]] std::string last_name() const { return name.substr(name.rfind(' ') + 1); } // "pe"
};

// The options of the program that every command takes: all but --help and --version.
[[nodiscard]] std::vector<ArgumentDescription> settings(const CommandDescription &program);

// "lamina run [OPTION]... MODEL [TEXT...]"
[[nodiscard]] std::string usage(const CommandDescription &command);

// The values of a choice, "f32|f16"; none if the value is something else.
[[nodiscard]] std::vector<std::string> choices(const ArgumentDescription &argument);

} // namespace lamina::cli
