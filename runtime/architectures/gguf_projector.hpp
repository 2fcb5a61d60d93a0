// Reads the part of a model in GGUF format that sees, which is in a file of its own: its projector, mmproj-*.gguf.
#pragma once

#include "architectures/architecture.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::architectures {

// Adds the graph "encode_image" to a model of this "general.architecture", whose `config`, weights and texts the draft
// has. Throws Error(input), also for the projector of another model.
void add_projector(const std::filesystem::path &file, Draft &draft, std::string_view architecture);

// The files beside a model that are called mmproj*.gguf, in order.
[[nodiscard]] std::vector<std::filesystem::path> projectors_beside(const std::filesystem::path &model);

} // namespace lamina::architectures
