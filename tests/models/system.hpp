// Runs a whole model on the inputs in a file, and compares with the outputs in the file.
#pragma once

#include <lamina/lamina.hpp>

#include <filesystem>
#include <string>

// The tensors in.NAME, out.NAME, weight.NAME, state.NAME (before) and state_after.NAME of a file that make.py wrote.
struct Expected {
    lamina::TensorMap in, out, weight, state, state_after;
};
[[nodiscard]] Expected read_expected(const std::filesystem::path &file);

[[nodiscard]] const lamina::Runtime &runtime();

// Every usable device of this machine, including `reference`.
[[nodiscard]] std::vector<lamina::Device> devices();

// Runs every graph of the model for which `expected` has outputs: an encoder before a decoder, which reads its outputs.
[[nodiscard]] lamina::TensorMap run_all(const lamina::Model &model, const lamina::Device &device,
                                        const Expected &expected);

// Within 1e-5 of the expected value, relative to the row's largest value if that is above 1.
[[nodiscard]] bool agree(const lamina::Tensor &found, const lamina::Tensor &expected);

// run_all() on every device; checks every output.
void check_on_all_devices(const lamina::Model &model, const Expected &expected);
