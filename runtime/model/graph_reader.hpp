// Reads the graphs of model.json: unrolls repeats and resolves names.
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

#include <functional>
#include <set>
#include <string>

namespace lamina::model {

// Names of graphs, layers, variables, inputs and outputs: letters, digits, '_', '-' and '.'. Fails at `place`
// otherwise.
void check_name(const std::string &name, JsonView place);

class GraphReader {
  public:
    // Mapped weights must be in `weights`.
    explicit GraphReader(const Weights &weights) : weights_(&weights) {}

    // Reads the graphs of one model, one call for each. A layer's name is unique in all of them.
    [[nodiscard]] Graph read(const std::string &name, JsonView value);

  private:
    struct Scope;
    void read_layer(JsonView value, const std::string &index, Scope &scope, Graph &graph);
    void read_repeat(JsonView value, Scope &scope, Graph &graph);
    [[nodiscard]] std::string weight(JsonView value, const std::string &index) const;

    const Weights *weights_;
    std::set<std::string, std::less<>> layers_; // of all graphs so far
};

} // namespace lamina::model
