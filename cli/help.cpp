#include "help.hpp"

#include "base/joined.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace lamina::cli {
namespace {

// ---- From CLI11 to data ----

ArgumentDescription describe(const CLI::Option &option) {
    ArgumentDescription out;
    if (option.get_positional()) {
        out.names = {option.get_name(true)};
        out.value = option.get_name(true);
    } else {
        for (const std::string &name : option.get_snames()) out.names.push_back("-" + name);
        for (const std::string &name : option.get_lnames()) out.names.push_back("--" + name);
        if (option.get_items_expected_max() > 0) out.value = option.get_type_name();
    }
    out.text = option.get_description();
    if (!option.get_default_str().empty()) out.text += " [default: " + option.get_default_str() + "]";
    out.required = option.get_required();
    out.many = option.get_items_expected_max() > 1;
    return out;
}

// The name after that of the program, which is left out.
std::string full_name_of(const CLI::App &command) {
    const CLI::App *parent = command.get_parent();
    return parent == nullptr || parent->get_parent() == nullptr ? command.get_name()
                                                                : full_name_of(*parent) + " " + command.get_name();
}

// ---- From data to text ----

constexpr size_t page = 80; // the width of most terminals

// "-d, --device ID", "    --max-len N", "MODEL"
std::string name_of(const ArgumentDescription &argument) {
    if (!argument.names.front().starts_with("-")) return argument.names.front();
    std::string out = argument.names.front().starts_with("--") ? "    " : "";
    out += joined(argument.names);
    if (!argument.value.empty()) out += " " + argument.value;
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

// Names with many choices in lines of at most `width`, broken behind a "|", all but the first indented.
std::string broken(const std::string &name, size_t width, size_t indent) {
    std::string out, line;
    for (size_t at = 0; at < name.size();) {
        const size_t end = std::min(name.find('|', at), name.size() - 1) + 1;
        if (!line.empty() && line.size() + end - at > width) out += line + "\n", line = std::string(indent, ' ');
        line += name.substr(at, end - at);
        at = end;
    }
    return out + line;
}

std::string section(const std::string &title, const std::vector<std::pair<std::string, std::string>> &entries) {
    constexpr size_t column = 30;
    if (entries.empty()) return {};
    std::string out = "\n" + title + ":\n";
    for (const auto &[name, description] : entries) {
        out += "  " + broken(name, page - 2, 10);
        if (name.size() + 4 > column)
            out += "\n" + std::string(column, ' ');
        else
            out += std::string(column - 2 - name.size(), ' ');
        out += wrapped(description, page - column, column) + "\n";
    }
    return out;
}

std::string section(const std::string &title, const std::vector<ArgumentDescription> &arguments) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const ArgumentDescription &argument : arguments) entries.emplace_back(name_of(argument), argument.text);
    return section(title, entries);
}

std::string section(const std::string &title, const std::vector<CommandDescription> &commands) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const CommandDescription &command : commands) entries.emplace_back(command.last_name(), command.text);
    return section(title, entries);
}

} // namespace

CommandDescription describe(const CLI::App &command) {
    CommandDescription out{full_name_of(command), command.get_description(), command.get_footer(), {}, {}, {}};
    for (const CLI::Option *option : command.get_options())
        (option->get_positional() ? out.positionals : out.options).push_back(describe(*option));
    for (const CLI::App *each : command.get_subcommands({}))
        if (!each->get_group().empty()) out.commands.push_back(describe(*each));
    return out;
}

std::string HelpFormatter::make_help(const CLI::App *app, std::string, CLI::AppFormatMode) const {
    const CommandDescription command = describe(*app);
    const std::string footer = command.footer.empty() ? "" : "\n" + paragraphs(command.footer);
    const std::string head =
        paragraphs(command.text) + "\nUsage: " + usage(command) + "\n" + section("Commands", command.commands);
    if (app->get_parent() == nullptr) return head + section("Global options", command.options) + footer;
    const CLI::App *root = app;
    while (root->get_parent() != nullptr) root = root->get_parent();
    return head + section("Arguments", command.positionals) + section("Options", command.options) +
           section("Global options", settings(describe(*root))) + footer;
}

} // namespace lamina::cli
