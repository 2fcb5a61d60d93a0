// lamina bench LAYER: how long layers take.
#pragma once

#include "model_arguments.hpp"
#include "sheet.hpp"

#include <lamina/measure.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

struct LayerBench {
    std::vector<std::string> cases; // of every layer; empty: one that the layer declares
    MeasureOptions measure;
    std::optional<Device> beside; // measured, too, with the variant that a session would use there
    bool without_refused = false; // no row and no message for a variant that cannot compute a case
};

// The cases that a case with lists stands for: "T=128,512 C=64" is "T=128 C=64" and "T=512 C=64".
[[nodiscard]] std::vector<std::string> expanded(const std::string &case_text);

struct LayerResults {
    Sheet sheet; // a row for every layer, case and variant
    std::vector<LayerMeasurement> measured{};
};

// `variants`: the one to measure, by layer id.
[[nodiscard]] LayerResults bench_layers(const Runtime &runtime, const Device &device, const Limits &limits,
                                        const std::vector<std::string> &layers, const LayerBench &how,
                                        const Assignments &variants, Output &output);

} // namespace lamina::cli
