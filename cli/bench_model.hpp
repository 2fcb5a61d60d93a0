// lamina bench MODEL: how fast a model answers.
#pragma once

#include "limits.hpp"
#include "sheet.hpp"
#include "workload.hpp"

#include <lamina/measure.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lamina::cli {

struct ModelBench {
    WorkloadOptions work;
    int64_t rounds = 5;
    std::filesystem::path draft;      // a model that guesses the answers of the others; empty: none
    std::filesystem::path perplexity; // of this text instead; empty: how fast the model is
    int64_t window = 512;             // tokens of the text that are read at a time
};

// One row of the sheet.
struct ModelFigure {
    std::string model, what, unit; // "prompt", "tokens/s"
    Spread value;
    double share_of_limit = 0; // 0: there is no limit to compare with
};

// `limits`: of the devices; null if no share of them is wanted.
[[nodiscard]] std::vector<ModelFigure> bench_model(const Runtime &runtime, const Model &model, const Device &device,
                                                   const SessionOptions &session, const DeviceLimits *limits,
                                                   const ModelBench &how, Output &output);

// How well the model foresees how.perplexity.
[[nodiscard]] std::vector<ModelFigure> bench_perplexity(const Runtime &runtime, const Model &model,
                                                        const Device &device, const SessionOptions &session,
                                                        const ModelBench &how, Output &output);

// `beside`: figures of the same models on another device, or empty; its id.
[[nodiscard]] Sheet model_sheet(const std::vector<ModelFigure> &figures, const std::vector<ModelFigure> &beside,
                                const std::string &beside_id);

} // namespace lamina::cli
