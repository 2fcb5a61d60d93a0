// What `lamina compare --with` compares with: the results of the Python package transformers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lamina::cli {

// Runs a model with transformers, on texts or on ids of its own, and writes a record of it. The Python is the one that
// LAMINA_PYTHON names, or python3. Throws Error(failure) with what to do if it has no transformers or fails.
void record_with_transformers(const std::filesystem::path &model, const std::vector<std::string> &texts,
                              const std::filesystem::path &record);

} // namespace lamina::cli
