#include "help.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace lamina::cli {
namespace {

constexpr size_t page = 80; // the width of most terminals

// "-d, --device ID", "    --max-len N", "MODEL"
std::string name_of(const CLI::Option *option) {
    if (option->get_positional()) return option->get_name(true);
    std::string out = option->get_snames().empty() ? "    " : "-" + option->get_snames().front() + ", ";
    out += "--" + option->get_lnames().front();
    if (option->get_items_expected_max() > 0) out += " " + option->get_type_name();
    return out;
}

std::string description_of(const CLI::Option *option) {
    std::string out = option->get_description();
    if (!option->get_default_str().empty()) out += " [default: " + option->get_default_str() + "]";
    return out;
}

// The end of the word that starts at `at`; "[default: auto]" is one word.
size_t end_of_word(const std::string &text, size_t at) {
    if (text[at] == '[') at = std::min(text.find(']', at), text.size());
    return std::min(text.find(' ', at), text.size());
}

// `text` in lines of at most `width`, broken at spaces, all but the first indented.
std::string wrapped(const std::string &text, size_t width, size_t indent) {
    std::string out;
    size_t used = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = end_of_word(text, at);
        if (used != 0 && used + 1 + end - at > width) out += "\n" + std::string(indent, ' '), used = 0;
        if (used != 0) out += ' ', ++used;
        out += text.substr(at, end - at);
        used += end - at;
        at = end + 1;
    }
    return out;
}

// Lines of any length; one that is aligned with blanks stays as it is.
std::string paragraphs(const std::string &text) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        out += (line.find("  ") != std::string::npos ? line : wrapped(line, page, 0)) + "\n";
    return out;
}

std::string section(const std::string &title, const std::vector<std::pair<std::string, std::string>> &entries) {
    constexpr size_t column = 30;
    if (entries.empty()) return {};
    std::string out = "\n" + title + ":\n";
    for (const auto &[name, description] : entries) {
        out += "  " + name;
        if (name.size() + 4 > column)
            out += "\n" + std::string(column, ' ');
        else
            out += std::string(column - 2 - name.size(), ' ');
        out += wrapped(description, page - column, column) + "\n";
    }
    return out;
}

enum class Shown { positionals, options, settings }; // settings: options except --help and --version

std::string options(const std::string &title, const CLI::App *app, Shown shown) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const CLI::Option *option : app->get_options())
        if (option->get_positional() == (shown == Shown::positionals) &&
            !(shown == Shown::settings && (option->check_lname("help") || option->check_lname("version"))))
            entries.emplace_back(name_of(option), description_of(option));
    return section(title, entries);
}

std::string usage(const CLI::App *app, const std::string &name) {
    std::string out = "Usage: " + name;
    if (!app->get_subcommands({}).empty()) out += " COMMAND";
    out += " [OPTION]...";
    for (const CLI::Option *option : app->get_options())
        if (option->get_positional()) {
            const std::string many = option->get_items_expected_max() > 1 ? "..." : "";
            out += option->get_required() ? " " + option->get_name(true) + many
                                          : " [" + option->get_name(true) + many + "]";
        }
    return out + "\n";
}

std::string commands(const CLI::App *app) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const CLI::App *command : app->get_subcommands({}))
        entries.emplace_back(command->get_name(), command->get_description());
    return section("Commands", entries);
}

} // namespace

std::string HelpFormatter::make_help(const CLI::App *app, std::string, CLI::AppFormatMode) const {
    std::string name = app->get_name();
    const CLI::App *root = app;
    while (root->get_parent() != nullptr) {
        root = root->get_parent();
        name = root->get_name() + " " + name;
    }
    std::string out = paragraphs(app->get_description()) + "\n" + usage(app, name) + commands(app);
    if (app == root)
        return out + options("Global options", root, Shown::options) + "\n" + paragraphs(app->get_footer());
    out += options("Arguments", app, Shown::positionals) + options("Options", app, Shown::options) +
           options("Global options", root, Shown::settings);
    if (!app->get_footer().empty()) out += "\n" + paragraphs(app->get_footer());
    return out;
}

} // namespace lamina::cli
