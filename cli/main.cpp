// lamina: the command. One file a subcommand; this one parses, dispatches and turns failures into exit codes.
#include "command.hpp"
#include "given.hpp"
#include "help.hpp"
#include "interrupt.hpp"

#include "base/nearest.hpp"

#include <lamina/plugin.h>

#include <algorithm>
#include <iostream>
#include <new>

namespace lamina::cli {
namespace {

constexpr auto footer =
    "Data goes to stdout, progress and logs to stderr.\n"
    "Exit status: 0 success, 1 failure, 2 usage, 3 bad model or input, 4 no such device, 5 out of memory,\n"
    "6 device lost, 7 comparison out of tolerance, 8 plugin missing or broken, 130 interrupted.";

void add_global_options(CLI::App &app, GlobalOptions &global) {
    app.add_option("-d,--device", global.device, "where to run: auto, cpu, vulkan:N, uuid:... or reference")
        ->type_name("ID")
        ->capture_default_str();
    app.add_option(
           "--plugin-dir", global.plugin_folders,
           "folder to look for plugins in before $LAMINA_PLUGIN_PATH and Lamina's own; may be repeated, or several "
           "separated by ':'")
        ->type_name("DIR")
        ->delimiter(':')
        ->allow_extra_args(false);
    app.add_flag("--validate", global.validation,
                 "run under Vulkan's validation layers, and say on stderr what they say");
    app.add_flag("--no-cache", global.no_cache, "neither read nor keep what was proved and measured on earlier runs");
    app.add_flag("-q,--quiet", global.quiet, "nothing on stderr but errors");
    app.add_flag("--json", global.json, "data as JSON");
}

// The command that the user chose, as far as it was understood.
const CLI::App &chosen(const CLI::App &app) {
    const auto commands = app.get_subcommands();
    return commands.empty() ? app : chosen(*commands.front());
}

std::string full_name(const CLI::App &app) {
    return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> options_of(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options())
        for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
    if (app.get_parent() == nullptr) return names;
    for (std::string &name : options_of(*app.get_parent())) names.push_back(std::move(name));
    return names;
}

// What was wrong with the command line, and the name that was probably meant.
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
    for (const CLI::App *each : command.get_subcommands({})) commands.push_back(each->get_name());
    if (commands.empty()) return "unexpected argument '" + word + "'" + help;
    return "unknown command '" + word + "'" + did_you_mean(word, commands) + help;
}

int run(int argc, char **argv) {
    CLI::App lamina("Runs transformer models on any Vulkan GPU; every layer a plugin, every kernel proved.", "lamina");
    lamina.formatter(std::make_shared<HelpFormatter>());
    lamina.set_version_flag("-V,--version", LAMINA_VERSION, "print the version");
    lamina.set_help_flag("-h,--help", "print this help");
    lamina.footer(footer);
    lamina.require_subcommand(1)->fallthrough();

    GlobalOptions global;
    add_global_options(lamina, global);
    const std::vector<Command> commands{
        add_run(lamina, global),     add_compare(lamina, global),    add_check(lamina, global),
        add_devices(lamina, global), add_plugins(lamina, global),    add_inspect(lamina, global),
        add_plot(lamina, global),    add_new_plugin(lamina, global), add_init(lamina, global),
    };

    try {
        lamina.parse(argc, argv);
    } catch (const CLI::Success &information) { // --help, --version
        const int status = lamina.exit(information, std::cout, std::cerr);
        if (std::cout.flush()) return status;
        print_error("cannot write to standard output");
        return static_cast<int>(ErrorCode::failure);
    } catch (const CLI::ParseError &error) {
        if (argc == 1)
            std::cerr << lamina.help();
        else
            print_error(usage_error(lamina, error));
        return static_cast<int>(ErrorCode::usage);
    }
    take_environment(lamina);
    for (const char *idle : {"devices", "plugins", "inspect", "plot", "new-plugin", "init"})
        if (lamina.got_subcommand(idle))
            refuse_given(lamina, {"--device"}, std::string("does not go with ") + idle + ", which runs on none");
    Output output(global.json, global.quiet);
    const auto command =
        std::find_if(commands.begin(), commands.end(), [](const Command &each) { return each.app->parsed(); });
    try {
        return command->run(output);
    } catch (const Error &error) {
        throw Error(error.code(), error.what() + origin_of(*command->app, error.what()));
    }
}

int run_and_report(int argc, char **argv) {
    try {
        return run(argc, argv);
    } catch (const ClosedPipe &) {
        return 0;
    } catch (const Interrupted &) {
        return 128 + interrupted();
    } catch (const Error &error) {
        print_error(error.what());
        return static_cast<int>(error.code());
    } catch (const std::bad_alloc &) {
        print_error("out of host memory");
        return static_cast<int>(ErrorCode::memory);
    } catch (const std::exception &error) {
        print_error(std::string("a defect of lamina: ") + error.what());
        return static_cast<int>(ErrorCode::failure);
    }
}

} // namespace
} // namespace lamina::cli

int main(int argc, char **argv) {
    lamina::cli::watch_interrupts();
    return lamina::cli::run_and_report(argc, argv);
}
