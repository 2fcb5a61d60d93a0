// lamina new-plugin: creates a working layer as a starting point for a new one.
#include "command.hpp"
#include "new_files.hpp"

#include "skeleton_files.hpp"

#include "base/file.hpp"
#include "base/shell.hpp"

#include <lamina/plugins.hpp>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <utility>

namespace lamina::cli {
namespace {

namespace fs = std::filesystem;

struct NewPluginOptions {
    std::string name;
    fs::path out_of_tree;
};

// Names that would clash in the generated code or the build: as the enumerator of the kernel, the name of the struct,
// the target (lamina_plugin_NAME) or the folder in shaders/.
const std::set<std::string, std::less<>> taken{// what <lamina/plugin.hpp> and lamina_add_layer() define
                                               "all",    "call",        "groups", "invalid", "plan",  "sequence",
                                               "tensor", "unsupported", "window", "headers", "common"};

void check_name(const std::string &name, const Plugins &plugins) {
    check_new_name("a layer", name);
    const auto refuse = [&](const std::string &why) {
        throw Error(ErrorCode::usage, "a layer cannot be called '" + name + "': " + why);
    };
    if (taken.contains(name)) refuse("the word has a meaning in the generated code");
    if (const auto known = plugins.layers.find(name); known != plugins.layers.end())
        refuse("a layer with that name exists, in " + known->second.path.string());
}

// "rms_norm" as "RmsNorm".
std::string struct_name(const std::string &name) {
    std::string out;
    bool first = true;
    for (const char c : name) {
        if (c != '_') out += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        first = c == '_';
    }
    return out;
}

std::string for_layer(std::string_view text, const std::string &name) {
    return renamed(renamed(text, "skeleton", name), "Skeleton", struct_name(name));
}

bool is_source_tree(const fs::path &folder) {
    std::error_code unreadable;
    const fs::path list = folder / "CMakeLists.txt";
    if (!fs::is_directory(folder / "plugins", unreadable) || !fs::is_directory(folder / "shaders", unreadable) ||
        !fs::is_regular_file(list, unreadable))
        return false;
    const std::vector<std::byte> bytes = read_file(list);
    return std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()).find("project(Lamina ") !=
           std::string_view::npos;
}

// The source tree that contains the current folder.
fs::path source_tree() {
    const fs::path here = fs::current_path();
    for (fs::path folder = here;; folder = folder.parent_path()) {
        if (is_source_tree(folder)) return folder;
        if (folder == folder.parent_path()) break;
    }
    throw Error(ErrorCode::usage, here.string() + " is not inside Lamina's source tree (a folder with plugins/, "
                                                  "shaders/ and a CMakeLists.txt of project Lamina): go there, or make "
                                                  "a separate project with --out-of-tree DIR");
}

// CMakeLists.txt comes last, because it makes the folder a plugin.
std::vector<NewFile> files_in_tree(const fs::path &tree, const std::string &name) {
    std::vector<NewFile> out;
    for (const SkeletonFile &file : skeleton_files) {
        const fs::path path = for_layer(file.path, name);
        if (path.parent_path() == "shaders")
            out.emplace_back(tree / "shaders" / name / path.filename(), for_layer(file.text, name));
        else if (path.parent_path().empty() && path != "CMakeLists.txt")
            out.emplace_back(tree / "plugins" / name / path, for_layer(file.text, name));
    }
    out.emplace_back(tree / "plugins" / name / "CMakeLists.txt", "lamina_add_layer(" + name + ")\n");
    return out;
}

std::vector<NewFile> files_out_of_tree(const fs::path &project, const std::string &name) {
    std::vector<NewFile> out;
    for (const SkeletonFile &file : skeleton_files)
        out.emplace_back(project / for_layer(file.path, name), for_layer(file.text, name));
    return out;
}

std::string next_in_tree(const std::string &name) {
    return "The new layer already works. Build it, and check it on a Vulkan device:\n"
           "    cmake --build build --target lamina lamina_plugin_" +
           name + "\n    build/bin/lamina check " + name +
           " --device vulkan:0\nThen write the maths into its README.md, and change the .cpp and the .comp to compute "
           "it. "
           "docs/plugin_guide.md\nexplains every part.";
}

std::string next_out_of_tree(const std::string &name, const fs::path &project) {
    const std::string build = shell_word((project / "build").string());
    return "The new layer already works. Build it (with -DCMAKE_PREFIX_PATH=PREFIX if Lamina is installed in PREFIX, "
           "not "
           "in /usr),\nand check it on a Vulkan device:\n"
           "    cmake -S " +
           shell_word(project.string()) + " -B " + build + " && cmake --build " + build + "\n    lamina check " + name +
           " --plugin-dir " + shell_word((project / "build/lib/lamina/plugins").string()) +
           " --device vulkan:0\n    ctest --test-dir " + build +
           "\nThen write the maths into its README.md, and change the .cpp and the .comp to compute it.";
}

int new_plugin(const NewPluginOptions &options, const GlobalOptions &global, Output &output) {
    check_name(options.name, lamina::plugins(Runtime(global.runtime(output))));
    std::vector<NewFile> files;
    std::string next;
    if (options.out_of_tree.empty()) {
        const fs::path tree = source_tree();
        files = files_in_tree(tree, options.name);
        next = next_in_tree(options.name);
        write_all("layer", files, {tree / "plugins" / options.name, tree / "shaders" / options.name});
    } else {
        files = files_out_of_tree(options.out_of_tree, options.name);
        next = next_out_of_tree(options.name, options.out_of_tree);
        write_all("layer", files, {options.out_of_tree});
    }
    Json paths = Json::array();
    std::string lines;
    for (const auto &[path, text] : files) {
        paths.push_back(path.string());
        lines += path.string() + "\n";
    }
    if (output.json())
        output.print_json({{"layer", options.name}, {"files", paths}});
    else
        output.print(lines);
    output.note(next);
    return 0;
}

} // namespace

Command add_new_plugin(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("new-plugin", "Create a working layer as a starting point for your own.");
    app.footer("Without --out-of-tree the layer is added to the Lamina source tree that the current folder is in, as "
               "plugins/NAME and shaders/NAME. The new files are listed on stdout. Nothing is overwritten.\n"
               "Example: lamina new-plugin group_norm --out-of-tree ~/group_norm");
    auto options = std::make_shared<NewPluginOptions>();
    app.positional("NAME", options->name, "the layer's id, in lower_case").required();
    app.option("--out-of-tree", options->out_of_tree, "DIR",
               "create a separate project in this folder, which must be new or empty")
        .not_empty();
    return {app, [options, &global](Output &output) { return new_plugin(*options, global, output); }};
}

} // namespace lamina::cli
