// What another program computed of a model: inputs of its graphs, their outputs, and what single layers gave. A record
// is a safetensors file with tensors "in.GRAPH.NAME", "out.GRAPH.NAME" and "at.MODULE"; its metadata says which graphs
// run, in order ("graphs": "encode decode"), which texts they were given ("texts": a list in JSON), and who made it
// ("made_by").
#pragma once

#include <lamina/lamina.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lamina::comparison {

struct Record {
    struct Graph {
        std::string name;
        TensorMap inputs, outputs;
    };

    std::string made_by;
    std::vector<std::string> texts = {}; // whose tokens are the inputs "ids" of the first graph; empty: ids of its own
    std::vector<Graph> graphs = {};      // an output of one is an input of those after it, by its name
    TensorMap modules = {};              // by the name that the other program gives them

    // Throws Error(input) with the file, what was expected and found.
    static Record read(const std::filesystem::path &file);
    // What the module of this name gave, with or without a prefix that only one of the two programs writes ("model.",
    // "transformer."). Null: it is not recorded, or not alone under this name.
    [[nodiscard]] const Tensor *module(const std::string &name) const;
};

} // namespace lamina::comparison
