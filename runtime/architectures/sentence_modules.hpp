// Models of sentence-transformers: what becomes of a transformer's hidden states, one module after the other.
#pragma once

#include "architectures/graph_writer.hpp"
#include "model/weights.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lamina::architectures {

// One of modules.json.
struct SentenceModule {
    std::string kind;             // the last part of its class, such as "Pooling"
    std::filesystem::path folder; // with its settings and weights
    std::string name;             // of that folder; empty: it is the model's own
};
// Empty without modules.json. Throws Error(input) for a folder outside this one.
[[nodiscard]] std::vector<SentenceModule> sentence_modules_in(const std::filesystem::path &folder);
// What its transformer gives to the modules behind it (sentence-transformers, base/modules/transformer.py).
[[nodiscard]] std::string transformer_task(const std::filesystem::path &folder,
                                           const char *otherwise = "feature-extraction");

class SentenceModules {
  public:
    // Reads modules.json and the folders that it names, and adds their weights. none: there is no modules.json, or it
    // lists a transformer only, or one whose tokens are scored (token_score.hpp). Throws Error(input) for a module that
    // is not supported.
    static std::optional<SentenceModules> read(const std::filesystem::path &folder, model::Weights &weights);
    // A matrix NAME.linear.weight, and maybe a bias.
    struct Matrix {
        std::string name;
        int64_t outputs;
        bool biased;
    };
    // One pooling, these matrices, then vectors of length 1, which is what llama.cpp makes of a GGUF file.
    static SentenceModules with_pooling(const char *kind, const std::vector<Matrix> &behind);

    // Whether each token has a vector: then layers() gives (B, T, D), of texts without a prompt.
    [[nodiscard]] bool of_tokens() const { return of_tokens_; }
    // Whether the vectors are weights of words: then layers() takes scores of words (B, T, V) for hidden states.
    [[nodiscard]] bool of_words() const { return !of_words_.empty(); }

    // Hidden states (B, T, C) and lengths (B) to vectors (B, D). May add weights, and the graph's input "starts" (B):
    // how many tokens at the start of a text belong to a prompt and do not count.
    [[nodiscard]] GraphWriter::Tensor layers(GraphWriter &graph, model::Weights &weights, const GraphWriter::Tensor &x,
                                             const GraphWriter::Tensor &lengths) const;

  private:
    struct Module {
        enum class Kind { dense, layer_norm, normalize };
        Kind kind;
        std::string name;    // of its weights
        int64_t outputs = 0; // 0: as many as inputs
        std::string activation = {};
        bool biased = true;
        bool residual = false; // what is given is added to the result
    };
    std::vector<std::string> poolings_; // kinds of the layer `pooling`, whose vectors are concatenated
    bool of_tokens_ = false;
    bool pools_prompt_ = true;          // whether the tokens of a prompt count
    std::vector<Module> modules_;       // after the pooling
    std::vector<std::string> of_words_; // activations that make the weight of a word of its greatest score; empty: none

    static SentenceModules read_of_tokens(const std::filesystem::path &folder, model::Weights &weights);
    void read_pooling(const std::filesystem::path &file);
    void read_splade_pooling(const std::filesystem::path &file);
    [[nodiscard]] GraphWriter::Tensor pooled(GraphWriter &graph, const GraphWriter::Tensor &x,
                                             const GraphWriter::Tensor &lengths, bool normalized) const;
    void add_module(const std::string &kind, const std::filesystem::path &folder, const std::string &name,
                    model::Weights &weights);
};

// config_sentence_transformers.json: what is put before texts, by the kind of text. An empty `default_prompt`: nothing
// is put before a text unless its caller asks for it.
struct Prompts {
    std::map<std::string, std::string, std::less<>> texts = {}; // "query" -> "query: "
    std::string default_prompt = {};
};
[[nodiscard]] Prompts read_prompts(const std::filesystem::path &folder);

// The rows of x (B, C), each divided by its length.
[[nodiscard]] GraphWriter::Tensor normalized_row(GraphWriter &graph, model::Weights &weights, const std::string &name,
                                                 const GraphWriter::Tensor &x);

} // namespace lamina::architectures
