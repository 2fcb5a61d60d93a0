// lamina manual: a manual page for the program and for every command, with the text of --help.
#include "command.hpp"

#include "base/file.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace lamina::cli {
namespace {

// Text as troff takes it: a backslash starts an escape; a plain '-' or "'" would be printed as a hyphen or a quotation
// mark, which cannot be pasted into a shell; and a '.' at the start of a line is a request.
std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if (c == '\'')
            out += "\\(aq";
        else if (c == '~')
            out += "\\(ti";
        else if (c == '^')
            out += "\\(ha";
        else if (c == '`')
            out += "\\(ga";
        else if (c == '|')
            out += "|\\:"; // long lists of choices may be broken there
        else if (c == '.' && (out.empty() || out.back() == '\n'))
            out += "\\&.";
        else
            out += c;
    }
    return out;
}

std::string bold(const std::string &text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string &text) { return "\\fI" + escaped(text) + "\\fR"; }

// Paragraphs are lines, as in --help; those that are aligned with blanks, and what follows "Examples:", stay as they
// are.
std::string troff_paragraphs(const std::string &text) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const bool verbatim = line.find("  ") != std::string::npos || line.starts_with("Example");
        out += verbatim ? ".PP\n.nf\n" + escaped(line) + "\n.fi\n" : ".PP\n" + escaped(line) + "\n";
    }
    const std::string broken = ".fi\n.PP\n.nf\n"; // lines that follow one another
    for (size_t at = 0; (at = out.find(broken, at)) != std::string::npos;) out.erase(at, broken.size());
    return out;
}

std::string arguments(const std::string &title, const std::vector<ArgumentDescription> &list) {
    if (list.empty()) return {};
    std::string out = ".SH " + title + "\n";
    for (const ArgumentDescription &argument : list) {
        out += ".TP\n";
        const bool option = argument.names.front().starts_with("-");
        for (size_t i = 0; i < argument.names.size(); ++i)
            out += (i != 0 ? ", " : "") + (option ? bold(argument.names[i]) : italic(argument.names[i]));
        if (option && !argument.value.empty()) out += " " + italic(argument.value);
        out += "\n" + escaped(argument.text) + "\n";
    }
    return out;
}

// "lamina-plot-pe"
std::string page_name(const CommandDescription &command) {
    std::string out = command.name == "lamina" ? command.name : "lamina-" + command.name;
    std::replace(out.begin(), out.end(), ' ', '-');
    return out;
}

std::string reference(const CommandDescription &command) { return bold(page_name(command)) + "(1)"; }

std::string manual_page(const CommandDescription &command, const CommandDescription &program) {
    const bool is_program = &command == &program;
    std::string title = page_name(command), summary = command.text;
    for (char &c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (summary.ends_with('.')) summary.pop_back();
    std::string out = ".\\\" Made by `lamina manual`.\n.TH " + title + " 1 \"\" \"" + LAMINA_VERSION +
                      "\" \"User Commands\"\n.SH NAME\n" + page_name(command) + " \\- " + escaped(summary) +
                      "\n.SH SYNOPSIS\n" + escaped(usage(command)) + "\n.SH DESCRIPTION\n" + escaped(command.text) +
                      "\n" + troff_paragraphs(command.footer);
    if (!command.commands.empty()) {
        out += ".SH COMMANDS\n";
        for (const CommandDescription &each : command.commands)
            out += ".TP\n" + reference(each) + "\n" + escaped(each.text) + "\n";
    }
    out += arguments("ARGUMENTS", command.positionals);
    out += arguments("OPTIONS", command.options);
    if (!is_program)
        out += arguments("GLOBAL OPTIONS", settings(program)) + ".SH SEE ALSO\n" + reference(program) + "\n";
    return out;
}

void write_pages(const CommandDescription &command, const CommandDescription &program,
                 const std::filesystem::path &folder) {
    write_file(folder / (page_name(command) + ".1"), manual_page(command, program));
    for (const CommandDescription &each : command.commands) write_pages(each, program, folder);
}

} // namespace

Command add_manual(const Arguments &lamina, const GlobalOptions &) {
    const Arguments app =
        lamina.command("manual", "Write the manual pages of lamina and its commands into a folder.").hidden();
    auto folder = std::make_shared<std::filesystem::path>();
    app.positional("DIR", *folder, "a folder that exists").required();
    return {app, [folder, lamina](Output &) {
                const CommandDescription program = lamina.description();
                write_pages(program, program, *folder);
                return 0;
            }};
}

} // namespace lamina::cli
