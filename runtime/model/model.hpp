// A model folder: graphs of layers (model.json), weights (model.safetensors) and vocabularies.
#pragma once

#include "abi/call.hpp"
#include "model/vocabulary.hpp"
#include "model/weights.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::model {

// An input of a graph. `dims` are names and numbers ("B S 160"); a name is the same size everywhere in the graph.
struct GraphInput {
    std::string name;
    DType dtype = DType::f32;
    std::string dims;
};

// One layer of a graph, repeats unrolled and names resolved.
struct Node {
    std::string name;  // unique in the model; also the name of its first output
    std::string type;  // a layer's id
    std::string place; // in model.json: "/graphs/encode/layers/2/layers/0"
    std::map<std::string, abi::ParamValue, std::less<>> params;
    // Port -> tensor. The empty port, which every node except a graph's first has, holds the previous node's output. It
    // goes to the layer's first input, unless that one is also named here. A tensor is a graph input, or "NODE" (first
    // output) or "NODE.PORT" (another output; whether it exists is not checked here) of an earlier node.
    std::map<std::string, std::string, std::less<>> inputs;
    // Port -> name in the safetensors file, if model.json maps it; other weights are "NODE.PORT".
    std::map<std::string, std::string, std::less<>> weights;
};

struct Graph {
    std::string name;
    std::vector<GraphInput> inputs;
    std::vector<Node> nodes;
    std::map<std::string, std::string, std::less<>> outputs; // name -> tensor, which is never a graph input
};

// How text becomes token ids: an entry per character, or per word between blanks.
struct TextCodec {
    std::string vocabulary; // file in the model folder
    bool characters = true; // else split at blanks
    bool lowercase = false;
};

// How to generate a sequence. Names are inputs or outputs of graphs, or entries of a vocabulary, and were checked at
// load time.
struct Generation {
    std::string encode, decode;             // graphs; encode is empty for decoder-only models
    std::string source_ids, source_lengths; // inputs of encode (the lengths also of decode)
    bool decode_takes_lengths = false;      // decode has an input named like source_lengths
    std::vector<std::string> encoded;       // outputs of encode that are inputs of decode, with the same names
    std::string target_ids, position;       // inputs of decode
    std::string scores;                     // its output, (B, T, V)
    bool probabilities = false;             // scores are probabilities; else logits (log probabilities are logits)
    std::string start, end;                 // entries of the target vocabulary
    int64_t max_length = 0;                 // generated tokens, the end not counted
    TextCodec source, target;

    // How given texts become ids: as a source or, without an encoder, as a prompt in the target's tokens.
    [[nodiscard]] const TextCodec &input() const { return encode.empty() ? target : source; }
};

// Tokens that mean something to generation; ids of those that the decoder takes.
struct OutputTokens {
    // What the decoder is given first. A list of several is a choice: the likeliest of them there, such as the language
    // that Whisper hears.
    std::vector<std::vector<int32_t>> start = {};
    std::vector<int32_t> end = {};            // each of them ends an output
    std::vector<int32_t> suppress = {};       // never chosen
    std::vector<int32_t> begin_suppress = {}; // not chosen right after the start
};

struct Model {
    std::filesystem::path folder;
    std::string json; // its model.json
    std::string name, summary;
    std::map<std::string, Graph, std::less<>> graphs;
    Weights weights;
    std::optional<Generation> generation;
    OutputTokens tokens; // as the key "tokens" says; else the start and the end of `generation`
    std::map<std::string, Vocabulary, std::less<>> vocabularies; // by file name

    // Checks everything that does not need the plugins. A folder without model.safetensors is a model without weights.
    // Throws Error(input) with the file, the place in it, what was expected and what was found.
    static std::shared_ptr<const Model> load(const std::filesystem::path &folder);
    // The same for a model that is not in a folder: the text of its model.json, its weights, and the texts of its
    // vocabularies by file name. Messages use `name` in place of the folder. Reads no file.
    static std::shared_ptr<const Model> parse(std::string_view json, Weights weights,
                                              const std::map<std::string, std::string, std::less<>> &vocabularies,
                                              const std::string &name);
};

} // namespace lamina::model
