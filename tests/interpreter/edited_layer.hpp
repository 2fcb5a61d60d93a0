// Layers of the build with an edit in the source of a kernel, as a typing mistake would be.
#pragma once

#include "abi/library.hpp"

#include <string>
#include <vector>

namespace test {

struct Edit {
    std::string file; // in shaders/
    size_t at = 0;    // where in the file
    std::string text, becomes;
};

// The edit of the only place in the file that has this text.
[[nodiscard]] Edit edit(const std::string &file, const std::string &text, const std::string &becomes);

// The same edit of all places with this text in the files from which a kernel is compiled: its own, and those that it
// includes.
[[nodiscard]] std::vector<Edit> edits(const lamina::abi::Layer &layer, const std::string &kernel,
                                      const std::string &text, const std::string &becomes);

// A layer of which one kernel is compiled from edited sources.
class EditedLayer {
  public:
    EditedLayer(const lamina::abi::Layer &honest, const std::string &kernel, const Edit &edit);

    // Whether the edited kernel is another one at all.
    [[nodiscard]] bool differs() const { return differs_; }
    // What is wrong with the layer's results on the first of its cases where something is; "" if nothing is. Every
    // variant that dispatches the kernel is interpreted.
    [[nodiscard]] std::string fault() const;

  private:
    [[nodiscard]] std::string fault(const std::string &case_text) const;

    std::vector<uint32_t> spirv_;
    std::vector<lamina_kernel> kernels_;
    lamina_layer contract_;
    lamina::abi::Layer layer_;
    bool differs_ = false;
};

} // namespace test
