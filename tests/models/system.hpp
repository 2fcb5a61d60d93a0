// Runs a whole model on the inputs in a file, and compares with the outputs in the file.
#pragma once

#include <lamina/lamina.hpp>

#include <filesystem>
#include <string>

// in.NAME, out.NAME and weight.NAME of a file that make.py wrote; state.NAME before and state_after.NAME.
struct Expected {
    lamina::TensorMap in, out, weight, state, state_after;
};
[[nodiscard]] Expected read_expected(const std::filesystem::path &file);

[[nodiscard]] const lamina::Runtime &runtime();

// Every device of this machine that can be used, the references' among them.
[[nodiscard]] std::vector<lamina::Device> devices();

// Runs every graph of the model that `expected` has outputs for, an encoder before a decoder, which takes its outputs.
[[nodiscard]] lamina::TensorMap run_all(const lamina::Model &model, const lamina::Device &device,
                                        const Expected &expected);

// Within 1e-5 of what is expected, relative to its row's largest value where that is above 1.
[[nodiscard]] bool agree(const lamina::Tensor &found, const lamina::Tensor &expected);

// run_all() on every device; each output agrees with what is expected.
void check_on_all_devices(const lamina::Model &model, const Expected &expected);
