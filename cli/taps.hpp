// --tap NAME[=FILE.npy]: tensors inside a model, shown or written.
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

// Whether this names tensors by a pattern.
[[nodiscard]] bool is_pattern(const std::string &name);

// What --tap and --output can name in a graph: what its layers give, and its outputs.
[[nodiscard]] std::vector<std::string> tensor_names(const ModelGraph &graph);

// Throws Error(usage) where two tensors would go to one file: the second would take the first one's place.
void refuse_shared_files(const std::vector<Destination> &destinations);

// Returns which tensors went where.
Assignments write(const std::vector<Destination> &destinations, const TensorMap &tensors, Output &output);

class Taps {
  public:
    // Throws Error(usage): a pattern ('*', '?') with a FILE that has no '*' for the name to go.
    explicit Taps(const std::vector<std::string> &arguments);

    [[nodiscard]] bool empty() const { return taps_.empty(); }
    // Runs the graphs that these texts make a model run, and returns the tensors that the taps name: by graph and name.
    // Throws Error(input) for a tap that names nothing in any of them.
    [[nodiscard]] TensorMap of_texts(Session &session, const std::vector<std::string> &texts) const;
    // The names, as Session::run() takes them.
    [[nodiscard]] std::vector<std::string> patterns() const;
    // Where those of these tensors go that a tap with a FILE names.
    [[nodiscard]] std::vector<Destination> destinations(const std::vector<std::string> &names) const;

  private:
    struct Tap {
        std::string pattern, file;
    };
    std::vector<Tap> taps_;
};

} // namespace lamina::cli
