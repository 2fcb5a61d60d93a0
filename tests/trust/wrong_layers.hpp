// Runtimes and models with layers that are wrong on purpose.
#pragma once

#include "places.hpp"
#include "temporary_folder.hpp"
#include "vulkan_devices.hpp"

#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace test {

// A runtime with the wrong layers, whose cache is in `cache`; `notices` receives its messages.
inline lamina::Runtime runtime_with(const TemporaryFolder &cache, std::vector<std::string> &notices,
                                    const char *wrong = WRONG_PLUGINS) {
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    lamina::RuntimeOptions options;
    options.plugin_folders = {wrong, LAMINA_PLUGIN_DIR};
    options.proving_time = std::chrono::hours(1); // so that all checks are finished even on a busy machine
    options.notify = [&](const std::string &notice) { notices.push_back(notice); };
    return lamina::Runtime(options);
}

// The first Vulkan device, even a software one. If there is none, the test is skipped.
inline std::optional<lamina::Device> first_vulkan(const lamina::Runtime &runtime) {
    const std::vector<lamina::Device> devices = vulkan_devices(runtime);
    return devices.empty() ? std::nullopt : std::optional(devices.front());
}

inline lamina::ModelDescription model_of(const std::string &layer) {
    return {.name = "doubled",
            .json = R"({"format": "lamina/1", "name": "doubled", "summary": "", "graphs": {"run": {
                "inputs": {"x": {"dtype": "f32", "dims": "N C"}},
                "layers": [{"name": "first", "type": "softmax", "inputs": {"x": "x"}},
                           {"name": "second", "type": ")" +
                    layer + R"("}, {"name": "third", "type": "dropout"}],
                "outputs": {"y": "third"}}}})",
            .weights = {},
            .vocabularies = {}};
}

inline lamina::Tensor ramp(int64_t rows, int64_t cols) {
    lamina::Tensor x(lamina::TensorType{lamina::DType::f32, {rows, cols}});
    for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i % 11) * 0.1f;
    return x;
}

inline bool agree(const lamina::Tensor &a, const lamina::Tensor &b) {
    return lamina::compare(a, b, {1e-5, 1e-7, LAMINA_F32, 0}, "y").passed;
}

} // namespace test
