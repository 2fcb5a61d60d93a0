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

// The files from which a kernel is compiled, its own first, and their text.
[[nodiscard]] std::vector<std::string> sources_of(const lamina::abi::Layer &layer, const std::string &kernel);
[[nodiscard]] std::string source(const std::string &file);

// A layer of which one kernel is compiled from edited sources.
class EditedLayer {
  public:
    // Throws std::runtime_error with the compiler's messages if it cannot be compiled.
    EditedLayer(const lamina::abi::Layer &honest, const std::string &kernel, const Edit &edit);
    EditedLayer(const EditedLayer &) = delete;
    EditedLayer &operator=(const EditedLayer &) = delete;

    // Whether the edited kernel is another one at all.
    [[nodiscard]] bool differs() const { return differs_; }
    // What is wrong with the layer's results on the first of its cases where something is; "" if nothing is. Every
    // variant that dispatches the kernel is interpreted.
    [[nodiscard]] std::string fault() const;
    [[nodiscard]] const lamina::abi::Layer &layer() const { return layer_; }

  private:
    [[nodiscard]] std::string fault(const std::string &case_text) const;

    std::vector<uint32_t> spirv_;
    std::vector<lamina_kernel> kernels_;
    lamina_layer contract_;
    lamina::abi::Layer layer_;
    bool differs_ = false;
};

} // namespace test
