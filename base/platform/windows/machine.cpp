#include "base/machine.hpp"

#include "base/dynamic_library.hpp"

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>

#include <windows.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

// A value of the registry; empty if there is none.
std::wstring registry_text(const wchar_t *key, const wchar_t *name) {
    std::array<wchar_t, 256> text{};
    DWORD bytes = sizeof(text);
    const LSTATUS failed = RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, nullptr, text.data(), &bytes);
    return failed == ERROR_SUCCESS ? text.data() : std::wstring();
}

std::string utf8(const std::wstring &text) {
    const std::u8string bytes = fs::path(text).u8string();
    return {bytes.begin(), bytes.end()};
}

void add_paths(const char *variable, std::vector<fs::path> &out) {
    const char *value = std::getenv(variable);
    std::istringstream list(value != nullptr ? value : "");
    for (std::string path; std::getline(list, path, path_list_separator);)
        if (!path.empty()) out.emplace_back(path);
}

} // namespace

const std::string vulkan_loader = "vulkan-1.dll";

Facts system_facts() {
    const wchar_t *key = L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";
    return {{"distribution", utf8(registry_text(key, L"ProductName"))},
            {"build", utf8(registry_text(key, L"CurrentBuild"))}};
}

// Those of the variables, else those that are registered by themselves. Drivers that are registered with their display
// adapter are found by the loader alone.
std::vector<fs::path> vulkan_manifests() {
    std::vector<fs::path> out;
    add_paths("VK_DRIVER_FILES", out);
    if (out.empty()) add_paths("VK_ICD_FILENAMES", out);
    if (!out.empty()) return out;
    add_paths("VK_ADD_DRIVER_FILES", out);
    HKEY key = nullptr;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, L"SOFTWARE\\Khronos\\Vulkan\\Drivers", 0, KEY_READ, &key) != ERROR_SUCCESS)
        return out;
    std::wstring name(32768, L'\0');
    for (DWORD i = 0;; ++i) {
        auto length = static_cast<DWORD>(name.size());
        if (RegEnumValueW(key, i, name.data(), &length, nullptr, nullptr, nullptr, nullptr) != ERROR_SUCCESS) break;
        out.emplace_back(name.substr(0, length));
    }
    RegCloseKey(key);
    return out;
}

std::vector<Gpu> gpus() {
    std::vector<Gpu> out;
    DISPLAY_DEVICEW device{};
    device.cb = sizeof(device);
    std::wstring last;
    for (DWORD i = 0; EnumDisplayDevicesW(nullptr, i, &device, 0) != 0; ++i) {
        if (device.DeviceID == last) continue; // a GPU has an entry for each of its screens
        last = device.DeviceID;
        out.push_back({utf8(device.DeviceName), utf8(device.DeviceID), utf8(device.DeviceString), "", ""});
    }
    return out;
}

} // namespace lamina
