// Folders whose weights were quantized by GPTQ, AWQ, compressed-tensors or to FP8: they are read as dtypes that layers
// take.
#pragma once

#include "architectures/architecture.hpp"

#include <memory>
#include <set>
#include <string>

namespace lamina::architectures {

class Quantization {
  public:
    // Of a whole config.json. Throws Error(input) for a method, or a setting of it, that is not understood.
    static Quantization of(const Config &whole, const Description *description = nullptr);

    // Every matrix as one tensor MODULE.weight, made when it is first read; other tensors as they are. Which modules
    // are quantized follows from the tensors. Throws Error(input) for tensors that do not fit together.
    [[nodiscard]] model::Weights read(const model::Weights &file);

    // Of weights that read() returned, biases of its matrices that are all zero: some libraries write them for modules
    // that have none.
    [[nodiscard]] std::set<std::string, std::less<>> zero_biases(const model::Weights &weights) const;

    // What became of the matrices, in a line; empty: there are none. To be called after read().
    [[nodiscard]] const std::string &note() const { return note_; }

    class Method;

  private:
    std::shared_ptr<const Method> method_; // null: the weights are not quantized, or the architecture reads them
    std::string note_;
};

} // namespace lamina::architectures
