// lamina: the command. Each subcommand has its own file; this one dispatches and turns failures into exit codes.
#include "command.hpp"
#include "command_line.hpp"
#include "interrupt.hpp"

#include "base/dynamic_library.hpp"
#include "base/standard_streams.hpp"

#include <lamina/plugin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace lamina::cli {
namespace {

constexpr auto footer =
    "Results go to stdout, progress and messages to stderr.\n"
    "Exit status: 0 success, 1 failure, 2 usage, 3 bad model or input, 4 no such device, 5 out of memory, 6 device "
    "lost, 7 comparison out of tolerance, or nothing to check, 8 plugin missing or broken, 9 no kernel of a layer "
    "passed its proof, 128 + N ended by signal N (130: Ctrl-C).";

void add_global_options(const Arguments &lamina, GlobalOptions &global) {
    lamina
        .option("-d,--device", global.device, "ID",
                "where to run: auto, cpu, vulkan:N, uuid:... or reference; several for the layers of one model, as in "
                "vulkan:0,cpu; for check also interpreter")
        .shows_default();
    lamina
        .option("--plugin-dir", global.plugin_folders, "DIR",
                std::string("folder to search for plugins, before $LAMINA_PLUGIN_PATH and Lamina's own; may be "
                            "repeated, or list several separated by '") +
                    path_list_separator + "'")
        .separated_by(path_list_separator);
    lamina.flag("--validate", global.validation,
                "run with Vulkan's validation layers, and print their messages on stderr");
    lamina.flag("--no-cache", global.no_cache, "do not use or save the proofs and timings of earlier runs");
    lamina.flag("-q,--quiet", global.quiet, "print only errors on stderr");
    lamina.flag("--json", global.json, "print results as JSON");
}

int run(int argc, char **argv) {
    CommandLine line("lamina", "Runs transformer models on any Vulkan GPU, and checks every kernel before it is used.",
                     LAMINA_VERSION, footer);
    const Arguments lamina = line.global();
    GlobalOptions global;
    add_global_options(lamina, global);
    const std::vector<Command> commands{
        add_run(lamina, global),          add_chat(lamina, global),       add_serve(lamina, global),
        add_embed(lamina, global),        add_search(lamina, global),     add_compare(lamina, global),
        add_check(lamina, global),        add_devices(lamina, global),    add_doctor(lamina, global),
        add_plugins(lamina, global),      add_inspect(lamina, global),    add_tokenize(lamina, global),
        add_plot(lamina, global),         add_new_plugin(lamina, global), add_new_app(lamina, global),
        add_init(lamina, global),         add_convert(lamina, global),    add_bench(lamina, global),
        add_profile(lamina, global),      add_complete(lamina, global),   add_manual(lamina, global),
        add_open_library(lamina, global),
    };
    if (const std::optional<int> status = line.parse(argc, argv)) return *status;

    const auto command =
        std::find_if(commands.begin(), commands.end(), [](const Command &each) { return each.arguments.chosen(); });
    const std::string name = command->arguments.name();
    for (const char *idle : {"devices", "plugins", "plot pe", "new-plugin", "new-app", "init", "convert", "tokenize"})
        if (name == idle) refuse_given(lamina, {"--device"}, "cannot be used with " + name + ", which uses no device");
    Output output(global.json, global.quiet);
    try {
        return command->run(output);
    } catch (const Error &error) {
        throw Error(error.code(), command->arguments.in_words_of_options(error.what()));
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
        print_error(std::string("a bug in lamina: ") + error.what());
        return static_cast<int>(ErrorCode::failure);
    }
}

std::terminate_handler usual_end = nullptr;

// Where memory does not even suffice to throw std::bad_alloc, the standard library ends the program.
void end_without_memory() {
    if (void *some = std::malloc(1u << 16u); some != nullptr) usual_end();
    std::fputs("lamina: error: out of host memory\n", stderr);
    std::_Exit(static_cast<int>(ErrorCode::memory));
}

void watch_memory() { usual_end = std::set_terminate(end_without_memory); }

} // namespace
} // namespace lamina::cli

int main(int argc, char **argv) {
    lamina::prepare_streams();
    lamina::cli::watch_interrupts();
    lamina::cli::watch_memory();
    return lamina::cli::run_and_report(argc, argv);
}
