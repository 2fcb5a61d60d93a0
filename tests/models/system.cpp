#include "system.hpp"

#include "catch.hpp"

#include "api/access.hpp"
#include "model/safetensors.hpp"
#include "places.hpp"
#include "vulkan_devices.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace lamina;

// A NaN is far from everything.
bool agree(const Tensor &found, const Tensor &expected) {
    constexpr double tolerance = 1e-5;
    if (found.shape() != expected.shape()) return false;
    const auto columns = static_cast<size_t>(expected.shape().back());
    for (size_t base = 0; base < expected.f32().size(); base += columns) {
        double largest = 1, difference = 0;
        for (size_t i = base; i < base + columns; ++i) {
            const double f = found.f32()[i], e = expected.f32()[i];
            if (!std::isfinite(f)) return false;
            largest = std::max(largest, std::abs(e));
            difference = std::max(difference, std::abs(f - e));
        }
        if (difference > tolerance * largest) return false;
    }
    return true;
}

Expected read_expected(const std::filesystem::path &file) {
    Expected out;
    const auto opened = model::open_safetensors(file).weights;
    for (const auto &[name, entry] : opened.entries()) {
        Tensor tensor(entry.type);
        std::ranges::copy(entry.bytes(), tensor.bytes().begin());
        const size_t dot = name.find('.');
        const std::string role = name.substr(0, dot);
        TensorMap &map = role == "in"            ? out.in
                         : role == "out"         ? out.out
                         : role == "state"       ? out.state
                         : role == "state_after" ? out.state_after
                                                 : out.weight;
        map.emplace(name.substr(dot + 1), std::move(tensor));
    }
    return out;
}

const Runtime &runtime() {
    // Lists the devices before it becomes a static, because then drivers clean up after it at exit.
    static const Runtime made = [] {
        const Runtime with_drivers({.plugin_folders = {LAMINA_PLUGIN_DIR}});
        (void)with_drivers.devices();
        return with_drivers;
    }();
    return made;
}

std::vector<Device> devices() {
    std::vector<Device> out = test::vulkan_devices(runtime());
    out.push_back(runtime().device("reference"));
    out.push_back(runtime().device("cpu"));
    return out;
}

TensorMap run_all(const Model &model, const Device &device, const Expected &expected) {
    Session session = runtime().session(model, device);
    TensorMap tensors = expected.in, out;
    const auto &graphs = detail::Access::model(model)->graphs;
    for (const char *name : {"embed", "encode", "decode", "generate"}) {
        const auto graph = graphs.find(name);
        if (graph == graphs.end()) continue;
        TensorMap inputs;
        for (const model::GraphInput &input : graph->second.inputs) inputs[input.name] = tensors.at(input.name);
        for (auto &[output, tensor] : session.run(name, inputs)) out[output] = tensors[output] = tensor;
    }
    return out;
}

void check_on_all_devices(const Model &model, const Expected &expected) {
    REQUIRE(!expected.out.empty());
    for (const Device &device : devices()) {
        INFO(device.id << ": " << device.name);
        const TensorMap found = run_all(model, device, expected);
        for (const auto &[name, tensor] : expected.out) {
            INFO(name);
            REQUIRE(found.contains(name));
            CHECK(agree(found.at(name), tensor));
        }
    }
}
