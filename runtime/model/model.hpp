// A model folder: graphs of layers (model.json), weights (model.safetensors) and vocabularies.
#pragma once

#include "abi/call.hpp"
#include "model/safetensors.hpp"
#include "model/vocabulary.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {

// A tensor that a graph is given. `dims` are names and numbers ("B S 160"); a name is one size all over the graph.
struct GraphInput {
    std::string name;
    DType dtype = DType::f32;
    std::string dims;
};

// One layer of a graph, repeats unrolled and names resolved.
struct Node {
    std::string name;  // unique in the model; also the name of its first output
    std::string type;  // a layer's id
    std::string place; // where it stands in model.json: "/graphs/encode/layers/2/layers/0"
    std::map<std::string, abi::ParamValue, std::less<>> params;
    // Port -> tensor. The empty port, which every node but a graph's first has, is the previous node's output: it goes
    // to the layer's first input unless that one is named here, too. A tensor is a graph input or "NODE" (first output)
    // or "NODE.PORT" (any other output; whether the layer has that port is not checked here) of an earlier node.
    std::map<std::string, std::string, std::less<>> inputs;
    // Port -> name in the safetensors file, where model.json maps it; all others are "NODE.PORT".
    std::map<std::string, std::string, std::less<>> weights;
};

struct Graph {
    std::string name;
    std::vector<GraphInput> inputs;
    std::vector<Node> nodes;
    std::map<std::string, std::string, std::less<>> outputs; // name -> tensor, which is never a graph input
};

// How text becomes token ids: one vocabulary entry a character, or a word between blanks.
struct TextCodec {
    std::string vocabulary; // file in the model folder
    bool characters = true; // else split at blanks
    bool lowercase = false;
};

// How to generate a sequence. Every name is an input or output of a graph, or an entry of a vocabulary; checked on
// load.
struct Generation {
    std::string encode, decode;             // graphs; encode is empty for decoder-only models
    std::string source_ids, source_lengths; // inputs of encode (and lengths of decode, too)
    bool decode_takes_lengths = false;      // decode has an input of the name of source_lengths
    std::vector<std::string> encoded;       // outputs of encode that decode takes, by the name that both give them
    std::string target_ids, position;       // inputs of decode
    std::string scores;                     // its output, (B, T, V)
    bool probabilities = false;             // what scores are; else logits, or log probabilities, which are logits
    std::string start, end;                 // entries of the target vocabulary
    int64_t max_length = 0;                 // generated tokens, the end not counted
    TextCodec source, target;

    // How the texts that are given become ids: a source, or, with no encoder, a prompt in the target's own tokens.
    [[nodiscard]] const TextCodec &input() const { return encode.empty() ? target : source; }
};

struct Model {
    std::filesystem::path folder;
    std::string name, summary;
    std::map<std::string, Graph, std::less<>> graphs;
    Safetensors weights;
    std::optional<Generation> generation;
    std::map<std::string, Vocabulary, std::less<>> vocabularies; // by file name

    // Checks everything that can be known without the plugins; a folder without model.safetensors is a model without
    // weights. Throws Error(input): which file, where in it, what was expected and found.
    static std::shared_ptr<const Model> load(const std::filesystem::path &folder);
    // The same for a model that is not in a folder: the text of its model.json, its weights, its vocabularies' texts by
    // file name. `name` stands for the folder in messages. Reads no file.
    static std::shared_ptr<const Model> parse(std::string_view json, Safetensors weights,
                                              const std::map<std::string, std::string, std::less<>> &vocabularies,
                                              const std::string &name);
};

} // namespace lamina::model
