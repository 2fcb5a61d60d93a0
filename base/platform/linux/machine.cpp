#include "base/machine.hpp"

#include "base/dynamic_library.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string first_line(const fs::path &file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

// PRETTY_NAME of os-release.
std::string distribution() {
    std::ifstream file("/etc/os-release");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("PRETTY_NAME=")) {
            std::string name = line.substr(line.find('=') + 1);
            std::erase(name, '"');
            return name;
        }
    return "unknown";
}

std::vector<fs::path> entries(const fs::path &folder) {
    std::error_code none;
    std::vector<fs::path> out;
    for (const auto &entry : fs::directory_iterator(folder, none)) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

std::vector<fs::path> parts(const std::string &list) {
    std::vector<fs::path> out;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, path_list_separator);)
        if (!part.empty()) out.emplace_back(part);
    return out;
}

// ---- Drivers ----

// Adds the manifests at a path: the file, or those in the folder.
void add_manifests(const fs::path &path, std::vector<fs::path> &out) {
    std::error_code none;
    if (fs::is_directory(path, none)) {
        for (const fs::path &file : entries(path))
            if (file.extension() == ".json") out.push_back(file);
    } else if (fs::exists(path, none)) {
        out.push_back(path);
    }
}

// ---- GPUs ----

Gpu read_gpu(const fs::path &device) {
    std::error_code none;
    const auto number = [&](const char *file) {
        const std::string text = first_line(device / file); // "0x10de"
        return text.starts_with("0x") ? text.substr(2) : text;
    };
    Gpu out{device.filename().string(), number("vendor") + ":" + number("device"), "", "", ""};
    out.kernel_driver = fs::read_symlink(device / "driver", none).filename().string();
    for (const fs::path &entry : entries(device / "drm")) {
        const fs::path node = "/dev/dri" / entry.filename();
        if (!entry.filename().string().starts_with("renderD") || access(node.c_str(), R_OK | W_OK) == 0) continue;
        out.why_not = node.string() + ": " + std::strerror(errno);
        struct stat status {};
        const group *owner = stat(node.c_str(), &status) == 0 ? getgrgid(status.st_gid) : nullptr;
        out.advice = std::string("as root: usermod -aG ") + (owner != nullptr ? owner->gr_name : "render") +
                     " USER, and log in again; a container must be given the device";
    }
    return out;
}

} // namespace

const std::string vulkan_loader = "libvulkan.so.1";

Facts system_facts() {
    Facts out{{"distribution", distribution()}};
    if (const std::string nvidia = first_line("/proc/driver/nvidia/version"); !nvidia.empty())
        out.emplace_back("nvidia", nvidia);
    return out;
}

std::vector<fs::path> vulkan_manifests() {
    std::vector<fs::path> out;
    for (const char *name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
        if (const std::string only = variable(name); !only.empty()) {
            for (const fs::path &path : parts(only)) add_manifests(path, out);
            return out;
        }
    for (const fs::path &path : parts(variable("VK_ADD_DRIVER_FILES"))) add_manifests(path, out);
    const auto or_else = [](const std::string &value, const std::string &otherwise) {
        return value.empty() ? otherwise : value;
    };
    const std::string home = variable("HOME");
    const std::string bases = or_else(variable("XDG_CONFIG_HOME"), home + "/.config") + ":" +
                              or_else(variable("XDG_CONFIG_DIRS"), "/etc/xdg") +
                              ":/etc:" + or_else(variable("XDG_DATA_HOME"), home + "/.local/share") + ":" +
                              or_else(variable("XDG_DATA_DIRS"), "/usr/local/share:/usr/share");
    for (const fs::path &base : parts(bases)) add_manifests(base / "vulkan/icd.d", out);
    return out;
}

std::vector<Gpu> gpus() {
    std::vector<Gpu> out;
    for (const fs::path &device : entries("/sys/bus/pci/devices"))
        if (first_line(device / "class").starts_with("0x03")) out.push_back(read_gpu(device)); // display controllers
    return out;
}

} // namespace lamina
