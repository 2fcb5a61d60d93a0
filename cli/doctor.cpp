// lamina doctor: what a bug report needs to say about this machine, and what to do about what is missing or wrong.
// Vulkan is used only by other commands, in processes of their own, so that the report survives a driver that crashes.
#include "command.hpp"
#include "table.hpp"

#include "base/available_memory.hpp"
#include "base/binary_size.hpp"
#include "base/cache_folder.hpp"
#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/joined.hpp"
#include "base/json_reader.hpp"
#include "base/machine.hpp"
#include "base/process.hpp"
#include "base/processor.hpp"

#include <lamina/plugin.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace lamina::cli {
namespace {

namespace fs = std::filesystem;

constexpr int patience = 60; // seconds for a command; it takes one or two

// The report. Its sections become JSON as they are, and text as tables.
struct Report {
    Json sections = Json::object(), problems = Json::array();
    bool wrong = false; // something does what it should not; missing things are no such thing

    void problem(const std::string &what, const std::string &advice) {
        problems.push_back({{"problem", what}, {"what_to_do", advice}});
    }
};

Json as_json(const Facts &facts) {
    Json out = Json::object();
    for (const auto &[name, value] : facts) out[name] = value;
    return out;
}

std::string last_line(const std::string &text) {
    const size_t end = text.find_last_not_of('\n');
    if (end == std::string::npos) return "";
    const size_t begin = text.rfind('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

bool right(const Ended &ended) { return ended.fault.empty() && ended.status == 0; }

// How a command ended that gave no result.
std::string ending(const Ended &ended) { return ended.fault.empty() ? "failed: " + last_line(ended.err) : ended.fault; }

// The options that were given for all commands, for those that run apart.
std::vector<std::string> arguments(std::vector<std::string> command, const GlobalOptions &global) {
    for (const fs::path &folder : global.plugin_folders)
        command.insert(command.end(), {"--plugin-dir", folder.string()});
    if (global.no_cache) command.emplace_back("--no-cache");
    if (global.validation) command.emplace_back("--validate");
    command.insert(command.end(), {"--json", "--quiet"});
    return command;
}

std::string text_of(const JsonView &object, const char *key) {
    return object.has(key) ? std::string(object.at(key).string()) : "";
}

// ---- Sections ----

void add_program(Report &report) {
    report.sections["lamina"] = {
        {"version", std::string(LAMINA_VERSION).substr(std::string("lamina ").size())},
        {"plugin_abi", std::to_string(LAMINA_ABI_MAJOR) + "." + std::to_string(LAMINA_ABI_MINOR)},
        {"program", this_program().value_or(fs::path()).string()},
        {"compiler", __VERSION__}};
}

void add_system(Report &report) {
    Json system = as_json(system_facts());
    system["kernel"] = system_name();
    system["processor"] = processor_name();
    system["processors"] = cores();
    if (const auto available = available_memory()) system["available_memory"] = binary_size(*available);
    report.sections["system"] = system;
    Json environment = Json::object();
    for (const char *name :
         {"LAMINA_PLUGIN_PATH", "XDG_CACHE_HOME", "VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES",
          "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE", "VK_INSTANCE_LAYERS", "VK_LAYER_PATH",
          "MESA_VK_DEVICE_SELECT", "LD_LIBRARY_PATH", "LD_PRELOAD", "XDG_DATA_DIRS"})
        if (const char *value = std::getenv(name)) environment[name] = value;
    report.sections["environment"] = environment;
}

void add_gpus(Report &report) {
    Json list = Json::array();
    for (const Gpu &gpu : gpus()) {
        list.push_back(
            {{"address", gpu.address}, {"id", gpu.id}, {"kernel_driver", gpu.kernel_driver}, {"why_not", gpu.why_not}});
        const std::string name = "the GPU " + gpu.id + " at " + gpu.address;
        if (gpu.kernel_driver.empty())
            report.problem(name + " has no kernel driver", "install or load the kernel module of its driver");
        if (!gpu.why_not.empty()) report.problem(name + " cannot be used by this user: " + gpu.why_not, gpu.advice);
    }
    report.sections["gpus"] = list;
}

// The loader with its version, which is in the name that symbolic links lead to: "libvulkan.so.1.3.239".
void add_loader(Report &report) {
    std::error_code none;
    const DynamicLibrary loader = open_library(vulkan_loader);
    std::string file;
    if (loader.handle != nullptr)
        if (const auto path = library_with(symbol_in(loader.handle, "vkGetInstanceProcAddr")))
            file = fs::canonical(*path, none).string();
    report.sections["loader"] = {{"file", file}, {"why_not", loader.fault}};
    if (loader.handle == nullptr)
        report.problem("Vulkan's loader cannot be opened: " + loader.fault,
                       "install it (Debian and Ubuntu: apt install libvulkan1), or run on the CPU");
}

// The library that a driver's manifest names. Throws Error(input).
fs::path library_of(const fs::path &manifest) {
    const std::vector<std::byte> bytes = read_file(manifest, 1 << 20, FileReader::Kind::ordinary);
    const JsonText text({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, manifest.string());
    const fs::path library = text.root().at("ICD").at("library_path").string();
    // Relative to the manifest; a mere name is for the system to find.
    return library.has_parent_path() ? (manifest.parent_path() / library).lexically_normal() : library;
}

void add_drivers(Report &report) {
    Json drivers = Json::array();
    for (const fs::path &manifest : vulkan_manifests()) {
        std::string library, why_not;
        try {
            library = library_of(manifest).string();
            const Ended opened = run_process({"open-library", library}, patience, stop_if_interrupted);
            if (!right(opened)) why_not = ending(opened);
        } catch (const Error &error) {
            why_not = error.what();
        }
        drivers.push_back({{"manifest", manifest.string()}, {"library", library}, {"why_not", why_not}});
        if (!why_not.empty())
            report.problem("the driver of " + manifest.string() + " cannot be opened: " + why_not,
                           "install the package of this driver again, or remove it");
    }
    if (drivers.empty())
        report.problem("there is no Vulkan driver",
                       "install the driver of your GPU's maker, or Mesa's (Debian and Ubuntu: apt install "
                       "mesa-vulkan-drivers); without one, models run on the CPU");
    report.sections["drivers"] = drivers;
}

// Returns the ids of the devices that can be used.
std::vector<std::string> add_devices(const GlobalOptions &global, Report &report) {
    std::vector<std::string> usable;
    const Ended ended = run_process(arguments({"devices"}, global), patience, stop_if_interrupted);
    Json list = Json::array();
    if (right(ended)) {
        const JsonText text(ended.out, "lamina devices");
        for (const JsonView &device : text.root().at("devices").items()) {
            std::vector<std::string> reasons;
            for (const JsonView &reason : device.at("unusable").items()) reasons.emplace_back(reason.string());
            list.push_back({{"id", text_of(device, "id")},
                            {"name", text_of(device, "name")},
                            {"kind", text_of(device, "kind")},
                            {"driver", text_of(device, "driver")},
                            {"api", text_of(device, "api_version")},
                            {"unusable", reasons}});
            if (reasons.empty()) usable.push_back(text_of(device, "id"));
        }
    } else {
        report.wrong = true;
        report.problem("lamina devices " + ending(ended),
                       "a driver may be at fault: try them one at a time, VK_DRIVER_FILES=MANIFEST lamina devices");
        usable = {"cpu"};
    }
    report.sections["devices"] = list;
    return usable;
}

void add_plugins(const GlobalOptions &global, Report &report) {
    Json list = Json::array();
    const auto add = [&](const std::string &id, const std::string &version, const std::string &path) {
        std::array<char, 17> hash{};
        std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(hash_of(read_file(path))));
        list.push_back({{"id", id}, {"version", version}, {"hash", hash.data()}, {"path", path}});
    };
    const Ended ended = run_process(arguments({"plugins"}, global), patience, stop_if_interrupted);
    if (!right(ended)) {
        report.wrong = true;
        report.problem("lamina plugins " + ending(ended), "install Lamina again, and check --plugin-dir");
    } else {
        const JsonText text(ended.out, "lamina plugins");
        for (const JsonView &layer : text.root().at("layers").items())
            add(text_of(layer, "id"), text_of(layer, "version"), text_of(layer, "path"));
        if (text.root().has("executor")) {
            const JsonView executor = text.root().at("executor");
            add(text_of(executor, "id"), text_of(executor, "version"), text_of(executor, "path"));
        } else {
            report.problem("the plugin that runs the device cpu is missing", "install Lamina's plugins again");
        }
        if (std::vector<std::string> names; text.root().at("kernels_left_out").items().size() != 0) {
            for (const JsonView &name : text.root().at("kernels_left_out").items()) names.emplace_back(name.string());
            report.problem("kernels that this build's shader compiler could not compile: " + joined(names),
                           "the variants without them run; for the others, build Lamina on Debian 13 or Ubuntu 24.04");
        }
        if (text.root().at("layers").items().size() == 0)
            report.problem("there are no layers", "install Lamina's plugins (Debian packages: lamina-plugins)");
        for (const JsonView &each : text.root().at("rejected").items())
            report.problem("the plugin " + text_of(each, "path") + " was rejected: " + text_of(each, "reason"),
                           "build or install it again, or remove it");
    }
    report.sections["plugins"] = list;
}

void add_caches(Report &report) {
    const std::optional<fs::path> folder = cache_folder();
    if (!folder) {
        report.sections["cache"] = Json::object();
        report.problem("there is no folder for caches, so every run proves its kernels again",
                       "set HOME or XDG_CACHE_HOME to an absolute path");
        return;
    }
    std::error_code none;
    fs::path existing = *folder; // it is created when it is needed
    while (!fs::exists(existing, none) && existing.has_relative_path()) existing = existing.parent_path();
    bool writable = true;
    try {
        FileWriter(existing / "lamina-doctor").write("x"); // and not commit(), so nothing is left
    } catch (const Error &) {
        writable = false;
    }
    size_t files = 0;
    uint64_t bytes = 0;
    for (const auto &entry : fs::directory_iterator(*folder, none))
        if (const uint64_t size = entry.file_size(none); !none) ++files, bytes += size;
    report.sections["cache"] = {
        {"folder", folder->string()}, {"writable", writable}, {"files", files}, {"bytes", bytes}};
    if (!writable)
        report.problem(existing.string() + " cannot be written, so every run proves its kernels again",
                       "set XDG_CACHE_HOME to a folder that this user can write to");
}

// A layer in all variants and a product in its plainest: a moment on every device.
void add_check(const std::vector<std::string> &devices, const GlobalOptions &global, Output &output, Report &report) {
    const std::vector<std::vector<std::string>> checks{{"check", "softmax", "--own-cases"},
                                                       {"check", "linear", "--case", "B=2 T=5 K=64 N=48"}};
    Json list = Json::array();
    for (const std::string &device : devices)
        for (const auto &check : checks) {
            output.progress("checking " + check[1] + " on " + device);
            std::vector<std::string> command = check;
            command.insert(command.end(), {"--device", device});
            const Ended ended = run_process(arguments(command, global), patience, stop_if_interrupted);
            const bool complete =
                right(ended) || (ended.fault.empty() && ended.status == static_cast<int>(ErrorCode::tolerance));
            int64_t passed = 0, failed = 0;
            if (complete) {
                const JsonText text(ended.out, "lamina check");
                passed = text.root().at("passed").integer(0, INT32_MAX);
                failed = text.root().at("failed").integer(0, INT32_MAX);
            }
            const std::string result = right(ended)  ? "right"
                                       : failed != 0 ? "WRONG"
                                       : complete    ? "nothing could be checked"
                                                     : ending(ended);
            list.push_back(
                {{"device", device}, {"layer", check[1]}, {"passed", passed}, {"failed", failed}, {"result", result}});
            if (right(ended)) continue;
            report.wrong = true;
            report.problem("the self-check of " + check[1] + " on " + device + ": " + result,
                           "update the driver; lamina check " + check[1] + " --device " + device + " says more");
        }
    output.clear_progress();
    report.sections["self_check"] = list;
}

// ---- The report as text ----

std::string shown(const Json &value) {
    if (const std::string *text = value.text()) return text->empty() ? "-" : *text;
    if (const std::vector<Json> *items = value.items()) {
        std::string out;
        for (const Json &item : *items) out += (out.empty() ? "" : "; ") + shown(item);
        return out.empty() ? "-" : out;
    }
    return value.in_one_line();
}

// "kernel_driver" -> "kernel driver"; the names of variables stay.
std::string heading(std::string key) {
    if (std::islower(static_cast<unsigned char>(key.front())) != 0) std::replace(key.begin(), key.end(), '_', ' ');
    return key;
}

std::string rows_of(const std::vector<Json> &items, const Output &output) {
    if (items.empty()) return "  none\n";
    std::vector<Column> columns;
    for (const Json::Member &member : *items.front().members()) {
        std::string head = heading(member.key);
        for (char &c : head) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        columns.emplace_back(head);
    }
    Table table(columns);
    for (const Json &item : items) {
        std::vector<Cell> cells;
        for (const Json::Member &member : *item.members()) cells.emplace_back(shown(member.value));
        table.row(std::move(cells));
    }
    return table.str(output, "  ");
}

std::string as_text(const Report &report, const Output &output) {
    std::string out;
    for (const Json::Member &section : *report.sections.members()) {
        out += output.styled(heading(section.key), Style::bold) + "\n";
        if (section.value.items() != nullptr) {
            out += rows_of(*section.value.items(), output);
        } else {
            size_t width = 0;
            for (const Json::Member &fact : *section.value.members()) width = std::max(width, fact.key.size());
            for (const Json::Member &fact : *section.value.members())
                out +=
                    "  " + heading(fact.key) + std::string(width - fact.key.size() + 2, ' ') + shown(fact.value) + "\n";
            if (section.value.members()->empty()) out += "  none\n";
        }
        out += "\n";
    }
    out += output.styled("problems", Style::bold) + "\n";
    if (report.problems.empty()) return out + "  " + output.styled("none was found", Style::green) + "\n";
    for (const Json &problem : *report.problems.items())
        out += "  " + output.styled((*problem.members())[0].value.text()[0], Style::red) + "\n    " +
               *(*problem.members())[1].value.text() + "\n";
    return out;
}

int doctor(const Arguments &app, const GlobalOptions &global, Output &output) {
    Report report;
    add_program(report);
    add_system(report);
    add_gpus(report);
    add_loader(report);
    add_drivers(report);
    output.progress("listing devices and plugins");
    std::vector<std::string> devices = add_devices(global, report);
    if (app.is_given("--device")) devices = {global.device};
    add_plugins(global, report);
    add_caches(report);
    add_check(devices, global, output, report);
    if (output.json()) {
        report.sections["problems"] = report.problems;
        output.print_json(report.sections);
    } else {
        output.print(as_text(report, output));
    }
    return report.wrong ? static_cast<int>(ErrorCode::tolerance) : 0;
}

} // namespace

Command add_doctor(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command(
        "doctor", "Collect what a bug report needs about this machine, and say what to do about problems.");
    app.footer("The report names the system, its GPUs, Vulkan's loader and drivers, the devices, the plugins with "
               "their hashes and the caches, and runs a few conformance cases on every device, or on that of "
               "--device. What touches a driver runs in a process of its own, so that a crash is reported, too.\n"
               "The exit status is 7 if a check computes wrong results, or a driver crashes or hangs. Nothing that is "
               "missing is a failure: the report says what to do about it.\n"
               "Example: lamina doctor > report.txt");
    return {app, [app, &global](Output &output) { return doctor(app, global, output); }};
}

Command add_open_library(const Arguments &lamina, const GlobalOptions &) {
    const Arguments app = lamina.command("open-library", "Open a library; fails with the reason.").hidden();
    auto file = std::make_shared<fs::path>();
    app.positional("FILE", *file, "for doctor, which survives it if this crashes").required();
    return {app, [file](Output &) {
                const DynamicLibrary library = open_library(*file);
                if (library.handle == nullptr) throw Error(ErrorCode::failure, library.fault);
                return 0;
            }};
}

} // namespace lamina::cli
