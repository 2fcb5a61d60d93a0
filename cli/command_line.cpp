#include "command_line.hpp"

#include "help.hpp"
#include "output.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

namespace lamina::cli {
namespace {

// The most deeply nested command that was recognized.
const CLI::App &chosen(const CLI::App &app) {
    const auto commands = app.get_subcommands();
    return commands.empty() ? app : chosen(*commands.front());
}

std::string full_name(const CLI::App &app) {
    return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> options_of(const CLI::App &app) {
    std::vector<std::string> names;
    for (const ArgumentDescription &option : describe(app).options) names.push_back(option.names.back());
    if (app.get_parent() == nullptr) return names;
    for (std::string &name : options_of(*app.get_parent())) names.push_back(std::move(name));
    return names;
}

// What is wrong with the command line, and the name that was probably meant.
std::string usage_error(const CLI::App &lamina, const CLI::ParseError &error) {
    const CLI::App &command = chosen(lamina);
    const std::vector<std::string> left_over = lamina.remaining(true);
    const std::string help = " (see " + full_name(command) + " --help)";
    if (left_over.empty() && !command.get_subcommands({}).empty()) return "COMMAND is required" + help;
    if (left_over.empty()) return error.what() + help;

    const std::string &word = left_over.front();
    if (word.starts_with("-")) {
        const std::string name = word.substr(0, word.find('='));
        return "unknown option '" + name + "'" + did_you_mean(name, options_of(command)) + help;
    }
    std::vector<std::string> commands;
    for (const CommandDescription &each : describe(command).commands) commands.push_back(each.last_name());
    if (commands.empty()) return "unexpected argument '" + word + "'" + help;
    return "unknown command '" + word + "'" + instead_of(word, commands) + help;
}

} // namespace

CommandLine::CommandLine(const std::string &name, const std::string &description, const std::string &version,
                         const std::string &footer)
    : root_(std::make_unique<CLI::App>(description, name)) {
    root_->formatter(std::make_shared<HelpFormatter>());
    root_->set_version_flag("-V,--version", version, "print the version");
    root_->set_help_flag("-h,--help", "print this help");
    root_->footer(footer);
    root_->require_subcommand(1)->fallthrough();
}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::parse(int argc, char **argv) {
    try {
        root_->parse(argc, argv);
    } catch (const CLI::Success &information) { // --help, --version
        std::ostringstream text;
        const int status = root_->exit(information, text, text);
        Output(false, false).print(text.str());
        return status;
    } catch (const CLI::ParseError &error) {
        if (argc == 1)
            std::cerr << root_->help();
        else
            print_error(usage_error(*root_, error));
        return static_cast<int>(ErrorCode::usage);
    }
    return std::nullopt;
}

} // namespace lamina::cli
