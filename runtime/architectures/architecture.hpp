// An architecture: what the settings of a model mean, and which layers follow. Each is one file of families/.
#pragma once

#include "architectures/config.hpp"
#include "architectures/graph_writer.hpp"
#include "model/model.hpp"

#include <lamina/tokenizer.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::architectures {

// How a sequence becomes one vector: the layer `pooling`.
struct Pooling {
    std::string kind; // mean, first, max, last
    bool normalize = false;

    [[nodiscard]] GraphWriter::Tensor layer(GraphWriter &graph, const GraphWriter::Tensor &x,
                                            const GraphWriter::Tensor &lengths) const {
        return graph.layer("pooling", "pooling", {{"x", x}, {"lengths", lengths}},
                           {{"kind", kind}, {"normalize", normalize}});
    }
};

// What the files of a model say of texts, beside its layers.
struct TextSettings {
    Tokenizer tokenizer;
    std::string file; // that it was read from
    std::optional<model::Chat> chat = {};
    int64_t max_length = 256;    // tokens of an output, where the files say nothing
    int64_t context = INT32_MAX; // tokens that the model was trained with
};

// A model while it is put together from the files that people have.
struct Draft {
    const Config &config;
    model::Weights &weights;                        // as the files name them, and what the architecture adds
    const Config &generation;                       // generation_config.json; without one, the same as `config`
    bool gguf = false;                              // read from a GGUF file
    std::optional<Pooling> pooling = {};            // of a model that embeds texts
    model::OutputTokens tokens = {};                // as `generation` has them; an architecture may know more
    std::optional<TextSettings> texts = {};         // none: the files have no tokenizer
    std::set<std::string, std::less<>> unused = {}; // weights that may lie in a file and change nothing
    std::map<std::string, GraphWriter, std::less<>> graphs = {};

    GraphWriter &graph(const std::string &name) { return graphs.try_emplace(name, weights).first->second; }
    // A tensor that a file may have under any of these names, or under several: the first that is there. Throws
    // Error(input) where they differ.
    std::string tied(std::initializer_list<const char *> names);
};

// A name in a GGUF file and the one in a Hugging Face folder; {i} is a number.
struct TensorName {
    std::string_view gguf, hugging_face;
};

struct Architecture {
    std::string_view model_type; // of config.json, and "general.architecture" of GGUF
    void (*build)(Draft &draft);
    std::span<const TensorName> gguf = {}; // empty: not read from GGUF
};

// All that there are: those of all files of families/, each of which defines a function of its own name,
// families::NAME(), that returns its architectures.
[[nodiscard]] const std::vector<Architecture> &all();

} // namespace lamina::architectures
