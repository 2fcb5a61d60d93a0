// Files of models that are not read, or not alone: what they are, and what to do.
#pragma once

#include <filesystem>
#include <string>

namespace lamina::model {

// "an ONNX model, which Lamina does not read: ..." for a file with such a name, or "".
[[nodiscard]] std::string what_it_is(const std::filesystem::path &file);

// "; found adapter_config.json, part of an adapter ...": the file of a folder that says most about it, or "".
[[nodiscard]] std::string found_instead(const std::filesystem::path &folder);

} // namespace lamina::model
