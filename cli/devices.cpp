// lamina devices: lists every device of this machine, and every reason why a device cannot be used.
#include "command.hpp"
#include "contract.hpp"
#include "table.hpp"

#include "base/binary_size.hpp"
#include "base/joined.hpp"

namespace lamina::cli {
namespace {

Json as_json(const Device &device) {
    return {{"id", device.id},
            {"name", device.name},
            {"kind", device.kind},
            {"driver", device.driver},
            {"api_version", device.api_version},
            {"uuid", device.uuid},
            {"memory_bytes", device.memory_bytes},
            {"usable", device.unusable.empty()},
            {"unusable", device.unusable}};
}

Json list_as_json(const Runtime &runtime, const std::vector<Device> &devices) {
    Json list = Json::array();
    for (const Device &device : devices) list.push_back(as_json(device));
    Json out{{"devices", list}, {"no_vulkan", nullptr}};
    if (const std::string reason = runtime.no_vulkan(); !reason.empty()) out["no_vulkan"] = reason;
    return out;
}

std::string list_as_text(const std::vector<Device> &devices, const Output &output) {
    Table table({"DEVICE", "NAME", "KIND", "DRIVER", "API", {"MEMORY", Align::right}, "USABLE"});
    for (const Device &device : devices) {
        const bool usable = device.unusable.empty();
        table.row({{device.id, Style::bold},
                   device.name,
                   device.kind,
                   device.driver,
                   device.api_version,
                   device.memory_bytes == 0 ? "" : binary_size(device.memory_bytes),
                   {usable ? "yes" : "no", usable ? Style::green : Style::red}});
    }
    std::string out = table.str(output);
    for (const Device &device : devices)
        for (const std::string &reason : device.unusable)
            out += "\n" + output.styled(device.id + " cannot be used: ", Style::red) + reason;
    return out.ends_with('\n') ? out : out + "\n";
}

int show_devices(const GlobalOptions &global, Output &output) {
    const Runtime runtime(global.runtime(output));
    const std::vector<Device> devices = runtime.devices();
    const std::vector<std::string> left_out = kernels_left_out(plugins(runtime));
    if (output.json()) {
        Json list = list_as_json(runtime, devices);
        list["kernels_left_out"] = left_out;
        output.print_json(list);
        return 0;
    }
    output.print(list_as_text(devices, output));
    if (const std::string reason = runtime.no_vulkan(); !reason.empty()) output.note("no Vulkan device: " + reason);
    if (!left_out.empty())
        output.note("kernels that this build's shader compiler could not compile: " + joined(left_out) +
                    "; others run in their place, slower on GPUs with cooperative matrices (tensor cores). Builds on "
                    "Debian 13 or Ubuntu 24.04 have them: there, glslang and Vulkan's headers are new enough");
    return 0;
}

} // namespace

Device chosen_device(const Runtime &runtime, const GlobalOptions &global, Output &output) {
    Device out = runtime.device(global.device);
    output.note("on " + out.id + " (" + out.name + ")" + (out.reason.empty() ? "" : ": " + out.reason));
    return out;
}

Command add_devices(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("devices", "List the devices, and why a device cannot be used.");
    return {app, [&global](Output &output) { return show_devices(global, output); }};
}

} // namespace lamina::cli
