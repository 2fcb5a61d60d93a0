// Names in model.json that must be those of a graph, of its inputs and outputs, or of a file. All throw Error(input).
#pragma once

#include "base/json_reader.hpp"
#include "model/model.hpp"

#include <string>
#include <vector>

namespace lamina::model {

[[nodiscard]] const Graph &graph_at(JsonView name, const Model &model);
[[nodiscard]] const GraphInput *find_input(const Graph &graph, const std::string &name); // null: there is none
// The name of an input, which must have this dtype and rank; `dims` shows them in the message ("B T").
[[nodiscard]] std::string input_at(JsonView name, const Graph &graph, DType dtype, size_t rank, const char *dims);
[[nodiscard]] std::string output_at(JsonView name, const Graph &graph);
// Only these inputs are given values; any other would have none.
void check_all_set(JsonView place, const Graph &graph, const std::vector<std::string> &set);
// The name of a file in the model folder, not of one elsewhere.
[[nodiscard]] std::string file_at(JsonView value);

} // namespace lamina::model
