// The commands of `lamina`: arguments, and a function that runs.
#pragma once

#include "arguments.hpp"
#include "interrupt.hpp"
#include "output.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lamina::cli {

// Options that every command takes, before or after its name.
struct GlobalOptions {
    std::string device = "auto";
    std::vector<std::filesystem::path> plugin_folders;
    bool validation = false, no_cache = false, quiet = false, json = false;

    // The runtime writes its messages to `output`, which must outlive it.
    [[nodiscard]] RuntimeOptions runtime(Output &output) const {
        return {plugin_folders,
                validation,
                !no_cache,
                [&output](const std::string &line) { output.note(line); },
                [&output](const std::string &what) {
                    stop_if_interrupted();
                    what.empty() ? output.clear_progress() : output.progress("proving " + what);
                },
                stop_if_interrupted};
    }
};

// `run` does the work after everything has been parsed, and returns the exit status. It reports failure by throwing
// Error.
struct Command {
    Arguments arguments;
    std::function<int(Output &)> run;
};

// The device that --device asks for. Says on stderr which it is, and why. In devices.cpp.
[[nodiscard]] Device chosen_device(const Runtime &runtime, const GlobalOptions &global, Output &output);

// Each is in the file of its name. `global` must outlive the command.
Command add_run(const Arguments &lamina, const GlobalOptions &global);
Command add_chat(const Arguments &lamina, const GlobalOptions &global);
Command add_serve(const Arguments &lamina, const GlobalOptions &global);
Command add_embed(const Arguments &lamina, const GlobalOptions &global);
Command add_search(const Arguments &lamina, const GlobalOptions &global);
Command add_devices(const Arguments &lamina, const GlobalOptions &global);
Command add_doctor(const Arguments &lamina, const GlobalOptions &global);
Command add_plugins(const Arguments &lamina, const GlobalOptions &global);
Command add_inspect(const Arguments &lamina, const GlobalOptions &global);
Command add_tokenize(const Arguments &lamina, const GlobalOptions &global);
Command add_check(const Arguments &lamina, const GlobalOptions &global);
Command add_compare(const Arguments &lamina, const GlobalOptions &global);
Command add_bench(const Arguments &lamina, const GlobalOptions &global);
Command add_profile(const Arguments &lamina, const GlobalOptions &global);
Command add_convert(const Arguments &lamina, const GlobalOptions &global);
Command add_init(const Arguments &lamina, const GlobalOptions &global);
Command add_plot(const Arguments &lamina, const GlobalOptions &global);
Command add_new_plugin(const Arguments &lamina, const GlobalOptions &global);
Command add_new_app(const Arguments &lamina, const GlobalOptions &global);
// For shells and packages; hidden.
Command add_complete(const Arguments &lamina, const GlobalOptions &global);
Command add_open_library(const Arguments &lamina, const GlobalOptions &global);
Command add_manual(const Arguments &lamina, const GlobalOptions &global);

} // namespace lamina::cli
