// Architectures that a file describes: a Jinja template of the graphs of model.json. So a type of models is added
// beside Lamina, as a layer is by a plugin.
#pragma once

#include "architectures/architecture.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lamina::architectures {

// The file MODEL_TYPE.model.json.jinja of the first of these folders that has one; nothing if none has. Throws
// Error(input) if it cannot be read.
[[nodiscard]] std::optional<Description> description_of(const std::string &model_type,
                                                        const std::vector<std::filesystem::path> &folders);

// The architecture of drafts with a description: its graphs are those of the template. Throws Error(input) for what is
// wrong with it or in its JSON, and for settings of config.json that it does not name.
[[nodiscard]] const Architecture &described();

} // namespace lamina::architectures
