// lamina new-app: creates a program that runs a model, as a starting point for a new one.
#include "command.hpp"
#include "new_files.hpp"

#include "skeleton_files.hpp"

#include "base/shell.hpp"

#include <memory>
#include <set>

namespace lamina::cli {
namespace {

struct NewAppOptions {
    std::string name;
    std::filesystem::path folder;
};

int new_app(const NewAppOptions &options, Output &output) {
    check_new_name("a program", options.name);
    for (const char *taken : {"all", "clean", "help", "install", "test"})
        if (options.name == taken)
            throw Error(ErrorCode::usage, "a program cannot be called '" + options.name +
                                              "': the build has a target "
                                              "of this name");
    const std::filesystem::path folder = options.folder.empty() ? std::filesystem::path(options.name) : options.folder;
    std::vector<NewFile> files;
    for (const SkeletonFile &file : app_skeleton_files)
        files.emplace_back(folder / file.path, renamed(file.text, "app_skeleton", options.name));
    write_all("program", files, {folder});
    Json paths = Json::array();
    std::string lines;
    for (const auto &[path, _] : files) {
        paths.push_back(path.string());
        lines += path.string() + "\n";
    }
    if (output.json())
        output.print_json({{"program", options.name}, {"files", paths}});
    else
        output.print(lines);
    const std::string build = shell_word((folder / "build").string());
    output.note(
        "The program already works. Build it (with -DCMAKE_PREFIX_PATH=PREFIX if Lamina is installed in PREFIX, "
        "not in\n/usr), and give it a model and lines on stdin:\n    cmake -S " +
        shell_word(folder.string()) + " -B " + build + " && cmake --build " + build + "\n    echo Hello | " + build +
        "/" + options.name + " MODEL\nlamina/lamina.h explains every function.");
    return 0;
}

} // namespace

Command add_new_app(const Arguments &lamina, const GlobalOptions &) {
    const Arguments app = lamina.command("new-app", "Create a program in C that runs a model, as a starting point.");
    app.footer("The new files are listed on stdout. Nothing is overwritten.\nExample: lamina new-app words");
    auto options = std::make_shared<NewAppOptions>();
    app.positional("NAME", options->name, "the program's name, in lower_case").required();
    app.positional("DIR", options->folder, "the folder of the project, which must be new or empty; default: NAME");
    return {app, [options](Output &output) { return new_app(*options, output); }};
}

} // namespace lamina::cli
