// A model against the plugins at hand, before anything of it runs.
#pragma once

#include "abi/library.hpp"
#include "model/model.hpp"

namespace lamina::api {

// Every layer has a plugin. Throws Error(plugin) that names the layer's place in model.json.
void expect_plugins(const model::Model &model, const abi::Registry &plugins);

// Every layer has a plugin, every weight of the file is used, and where the model says how it generates, its graphs fit
// together: they are planned once for a small batch, and how many positions there are, and how
// many tokens an image has, is found then. Throws
// Error(input) or Error(plugin).
void check_model(model::Model &model, const abi::Registry &plugins);

} // namespace lamina::api
