#include "command_line.hpp"

#include "help.hpp"
#include "marked.hpp"
#include "output.hpp"
#include "place.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <span>
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

// What other programs call these options.
const std::vector<std::pair<std::string, std::vector<std::string>>> elsewhere{
    {"--max-length", {"--max-tokens", "--max-new-tokens", "--max-completion-tokens", "--n-predict", "--predict"}},
    {"--beams", {"--num-beams", "--beam-size"}},
    {"--batch", {"--batch-size"}},
    {"--repetition-penalty", {"--repeat-penalty"}},
    {"--tokens", {"--n-gen"}},
    {"--prompt-tokens", {"--n-prompt"}},
};

// The option that was probably meant.
std::string meant(const std::string &name, const std::vector<std::string> &options) {
    const auto known = [&](const std::string &option) { return std::ranges::find(options, option) != options.end(); };
    for (const auto &[option, names] : elsewhere)
        if (std::ranges::find(names, name) != names.end() && known(option)) return "; did you mean '" + option + "'?";
    std::vector<std::string> longer; // "--temp"
    std::ranges::copy_if(options, std::back_inserter(longer),
                         [&](const std::string &option) { return name.size() > 3 && option.starts_with(name); });
    return longer.size() == 1 ? "; did you mean '" + longer.front() + "'?" : did_you_mean(name, options);
}

std::string no_command(const CLI::App &app, const std::string &word) {
    std::vector<std::string> commands;
    for (const CommandDescription &each : describe(app).commands) commands.push_back(each.last_name());
    return "unknown command '" + word + "'" + instead_of(word, commands);
}

// Of how often an option or its value is given, in our words.
std::string words_of(const CLI::ParseError &error) {
    std::string text = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch *>(&error) == nullptr) return text;
    const std::string name = text.substr(0, text.find(':'));
    if (text.ends_with(" missing")) return name + ": expected a value, found none";
    if (text.find(": At Most 1 ") != std::string::npos) return name + ": expected once, found more than once";
    return text;
}

// What is wrong with the command line, and the name that was probably meant.
std::string usage_error(const CLI::App &lamina, const CLI::ParseError &error) {
    const CLI::App &command = chosen(lamina);
    const std::vector<std::string> left_over = lamina.remaining(true);
    const std::string help = " (see " + full_name(command) + " --help)";
    if (left_over.empty() && !command.get_subcommands({}).empty()) return "COMMAND is required" + help;
    if (left_over.empty()) return words_of(error) + help;

    const std::string word = plain(left_over.front());
    if (word.starts_with("-") && word == left_over.front()) {
        const std::string name = word.substr(0, word.find('='));
        if (const std::string other = meant(name, options_of(command)); !other.empty())
            return "unknown option '" + name + "'" + other + help;
        const bool texts = std::ranges::any_of(describe(command).positionals,
                                               [](const ArgumentDescription &each) { return each.value == "TEXT"; });
        return "unknown option '" + name + "' (see " + full_name(command) +
               (texts ? " --help; a text that begins with '-' goes after '--')" : " --help)");
    }
    if (describe(command).commands.empty()) return "unexpected argument '" + word + "'" + help;
    return no_command(command, word) + help;
}

// The words in the order in which CLI11 wants them: the last one first. It would look for options after "--" again.
std::vector<std::string> words_for_parser(const CommandDescription &program, int argc, char **argv) {
    std::vector<std::string> out;
    Place place(program);
    for (const std::string word : std::span(argv, static_cast<size_t>(argc)).subspan(1)) {
        const bool text = place.only_positionals();
        place.pass(word);
        if (text || needs_mark(word))
            out.push_back(marked(word));
        else if (!place.only_positionals()) // otherwise it is the "--"
            out.push_back(word);
    }
    std::ranges::reverse(out);
    return out;
}

// The program or the command that these words name. Throws Error(usage).
const CLI::App &named(const CLI::App &lamina, const std::vector<std::string> &words) {
    const CLI::App *out = &lamina;
    for (const std::string &word : words) {
        const std::vector<const CLI::App *> commands = out->get_subcommands({});
        const auto next =
            std::ranges::find_if(commands, [&](const CLI::App *each) { return each->get_name() == word; });
        if (next == commands.end())
            throw Error(ErrorCode::usage, commands.empty()
                                              ? "'" + word + "': " + full_name(*out) + " has no commands of its own"
                                              : no_command(*out, word));
        out = *next;
    }
    return *out;
}

} // namespace

CommandLine::CommandLine(const std::string &name, const std::string &description, const std::string &version,
                         const std::string &footer)
    : root_(std::make_unique<CLI::App>(description, name)) {
    root_->formatter(std::make_shared<HelpFormatter>());
    root_->set_version_flag("-V,--version", version, "print the version");
    root_->set_help_flag("-h,--help", "print this help");
    root_->footer(footer);
    root_->require_subcommand(1)->fallthrough()->allow_windows_style_options(false);
}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::parse(int argc, char **argv) {
    std::vector<std::string> asked;
    const Arguments help = global().command("help", "Print the help of a command.");
    help.positional("COMMAND", asked, "the command; if there is none, all commands are listed");
    try {
        root_->parse(words_for_parser(describe(*root_), argc, argv));
        if (!help.chosen()) return std::nullopt;
        Output(false, false).print(HelpFormatter().make_help(&named(*root_, asked), "", CLI::AppFormatMode::Normal));
        return 0;
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
}

} // namespace lamina::cli
