// --tap NAME[=FILE.npy]: tensors inside a model, shown or written.
#pragma once

#include "model_arguments.hpp"
#include "output.hpp"

#include <lamina/lamina.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

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
    // Writes those of these tensors that have a FILE, and returns which went where.
    Assignments write(const TensorMap &tensors, Output &output) const;

  private:
    struct Tap {
        std::string pattern, file;
    };
    std::vector<Tap> taps_;
};

} // namespace lamina::cli
