// The part of `lamina run` that runs a graph on tensors, or shows tensors inside a model.
#pragma once

#include "model_arguments.hpp"
#include "output.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace lamina::cli {

struct TensorArguments {
    std::vector<std::string> inputs, outputs, taps; // --input, --output, --tap
    std::string graph;
    std::filesystem::path output_folder;
};

// Where each tensor goes: --output NAME=FILE, and with --output-dir every one of `outputs` besides. Throws Error(usage)
// for a pattern in place of a name.
[[nodiscard]] Assignments files_of(const TensorArguments &options, const std::vector<std::string> &outputs);
// Throws Error(failure) if it cannot be made.
void make_output_folder(const std::filesystem::path &folder);

// Runs a graph on the inputs, and prints its outputs and taps, or writes them.
void run_tensors(const TensorArguments &options, const Runtime &runtime, const Model &model, const Device &device,
                 SessionOptions how, Output &output);
// The same of what the model's graphs compute for texts; the session keeps all tensors.
void tap_texts(const TensorArguments &options, const std::vector<std::string> &texts, const Model &model,
               Session session, Output &output);

} // namespace lamina::cli
