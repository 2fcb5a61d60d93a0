// Adapters beside a model: its graphs with what they add, and all of its weights as they are.
#pragma once

#include "model/model.hpp"

#include <memory>
#include <string>

namespace lamina::architectures {

// The base with the changes that `changed` has, which is the same model read with adapters. A matrix of a product
// stays, and products of narrow matrices are added to what it gives; all else that adapters change is there a second
// time. `weights` are those that the base does not have, whose names begin with `prefix`; so do those of the states.
// Throws Error(input) if the base has been changed itself.
struct Beside {
    std::shared_ptr<const model::Model> model;
    model::Weights weights;
};
[[nodiscard]] Beside beside(const model::Model &base, const model::Model &changed, const std::string &prefix);

} // namespace lamina::architectures
