// The names of tensors in Hugging Face folders. They differ with the age of a file and with the class that wrote it;
// transformers renames them when it loads a file, and so does this.
#pragma once

#include "model/weights.hpp"

#include <span>
#include <string_view>

namespace lamina::architectures {

// A part of tensors' names in published files, and what transformers calls it now.
struct Renaming {
    std::string_view old, now;
};

// The weights with the names that architectures expect:
// - with what is new in `renamed` for what is old, in this order;
// - without the prefixes of wrappers, such as "module.";
// - with LayerNorm.weight and LayerNorm.bias for LayerNorm.gamma and LayerNorm.beta;
// - with "BASE." before all but those of heads, which files lack that hold the base model alone;
// - without the buffers that some versions of transformers stored.
// `base`: the name of the base model within a model with a head, such as "bert"; empty: names have no such prefix.
// Throws Error(input) if two tensors get the same name.
[[nodiscard]] model::Weights as_loaded(const model::Weights &file, std::string_view base,
                                       std::span<const Renaming> renamed = {});

} // namespace lamina::architectures
