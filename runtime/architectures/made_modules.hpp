// Modules whose weights a file stores otherwise than layers take them.
#pragma once

#include "architectures/architecture.hpp"

#include <string>
#include <utility>
#include <vector>

namespace lamina::architectures {

struct Fused {
    int64_t inputs;
    std::vector<std::pair<std::string, int64_t>> parts; // modules, and the rows of each
    bool biased = false;
};

// Makes the rows of MODULE.weight (and the values of MODULE.bias) the weights of the parts, which follow each other in
// it. Nothing is copied.
void split(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused);

// The same of a GGUF file that may have the parts as one, in their place: the weights, and maybe the biases, too
// (llama.cpp, convert_hf_to_gguf.py --fuse-qkv).
void split_if_fused(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused);

// The same as split() where the rows of the parts take turns, head by head: for each of `groups` heads those of the
// first part, those of the second and so on. Parts of the same name follow each other in one module. Copies them.
void split_by_heads(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused, int64_t groups);

// Queries, keys and values of each head: by heads in Hugging Face files, one part after the other in GGUF files.
void split_heads(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused, int64_t heads);

// Makes tensors of this shape, in this order, one: NAME (number of tensors, shape...). Nothing is copied before it is
// read.
void stack(Draft &draft, GraphWriter &graph, const std::string &name, const std::vector<std::string> &tensors,
           const Shape &shape);

// Adds MODULE.scaled.weight and .bias, whose rows are those of MODULE.weight (outputs, inputs) and MODULE.bias times
// the values of the tensor `factors`, which a file has for what the product adds to its residual.
void scale_residual(Draft &draft, GraphWriter &graph, const std::string &module, const std::string &factors,
                    int64_t outputs, int64_t inputs);

// A norm with MODULE.weight times `factor`, which scales what it computes; returns its name.
[[nodiscard]] std::string scaled_norm(Draft &draft, GraphWriter &graph, const std::string &module, int64_t width,
                                      double factor);

} // namespace lamina::architectures
