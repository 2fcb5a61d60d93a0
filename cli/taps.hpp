// --tap NAME[=FILE.npy]: prints tensors inside a model or writes them to files.
#pragma once

#include "model_arguments.hpp"
#include "output.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

// A tensor and the file that it is written to.
struct Destination {
    std::string tensor, file;
};

// Whether a name contains wildcards.
[[nodiscard]] bool is_pattern(const std::string &name);

// What --tap and --output can name in a graph: the outputs of its layers and its own outputs.
[[nodiscard]] std::vector<std::string> tensor_names(const ModelGraph &graph);

// Throws Error(usage) if two tensors would be written to the same file.
void refuse_shared_files(const std::vector<Destination> &destinations);

// Returns the file of each tensor.
Assignments write(const std::vector<Destination> &destinations, const TensorMap &tensors, Output &output);

class Taps {
  public:
    // Throws Error(usage) for a pattern ('*', '?') with a FILE that has no '*', which the tensor's name would replace.
    explicit Taps(const std::vector<std::string> &arguments);

    [[nodiscard]] bool empty() const { return taps_.empty(); }
    // Runs the model's graphs on these texts, and returns the tensors that the taps name. Throws Error(input) for a tap
    // that names nothing in any of them.
    [[nodiscard]] TensorMap of_texts(Session &session, const std::vector<std::string> &texts) const;
    // The names, for Session::run().
    [[nodiscard]] std::vector<std::string> patterns() const;
    // The files of those of these tensors that a tap with a FILE names.
    [[nodiscard]] std::vector<Destination> destinations(const std::vector<std::string> &names) const;

  private:
    struct Tap {
        std::string pattern, file;
    };
    std::vector<Tap> taps_;
};

} // namespace lamina::cli
