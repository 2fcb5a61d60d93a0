// Texts through a model that reads them, such as BERT: vectors and classes. And texts as a model sees them: their token
// ids, and the graphs that it runs for them. To generate text, Session::generate() in lamina.hpp is enough.
//
//     const lamina::Tensor vectors = lamina::embed(session, {"A man plays the guitar.", "It rains."}); // (2, C)
//
//     for (const lamina::GraphRun &run : lamina::graph_runs(session, {"vulkan"}))
//         for (const auto &[name, tensor] : session.run(run.graph, run.inputs, {"*"}))
//             std::cout << name << ": " << lamina::to_string(tensor.shape()) << '\n';
#pragma once

#include <lamina/chat_template.hpp>
#include <lamina/lamina.hpp>
#include <lamina/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

// ---- Vectors and classes ----

struct ReadOptions {
    size_t batch = 32;     // how many texts are read side by side
    bool truncate = false; // a text of more tokens than the model takes is cut; else it is an error
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
};

struct LabelScore {
    std::string label;
    double score = 0; // a probability, or the value itself if the model gives values
};

struct TokenLabels {
    std::string token;
    TextRange characters;           // of the text
    std::vector<LabelScore> labels; // best first
};

// All of them take texts in any number, and give what belongs to each in the same order. They throw Error(usage) for a
// model that gives something else; Error(input) for a text without tokens, or with too many.

// (N, C): a vector for each text.
[[nodiscard]] Tensor embed(Session &session, const std::vector<std::string> &texts, const ReadOptions &options = {});
// Scores of all labels, best first.
[[nodiscard]] std::vector<std::vector<LabelScore>> classify(Session &session, const std::vector<std::string> &texts,
                                                            const ReadOptions &options = {});
// The same for each token of a text, without special ones.
[[nodiscard]] std::vector<std::vector<TokenLabels>>
label_tokens(Session &session, const std::vector<std::string> &texts, const ReadOptions &options = {});

// ---- Conversations ----

// A conversation as the text that the model was trained to continue, by its own template. Give it to
// Session::generate() with GenerateOptions::special_tokens false. Throws Error(usage) for a model without a template,
// and what ChatTemplate throws.
[[nodiscard]] std::string chat_prompt(const Model &model, const std::vector<ChatMessage> &messages);

// ---- What a model sees of texts ----

struct RefusedText {
    size_t text = 0; // its index in the list
    std::string why; // a token that is not in the vocabulary, or more tokens than the model takes
};

struct TextIds {
    std::vector<std::vector<int32_t>> ids; // of all texts, or of those before the refused one
    std::optional<RefusedText> refused;    // the first that the model cannot take
};

// The token ids of texts. Throws Error(input) if the model takes no text.
[[nodiscard]] TextIds tokenize(const Model &model, const std::vector<std::string> &texts);

struct GraphRun {
    std::string graph;
    TensorMap inputs; // as Session::run() takes them
};

// The graphs that the model runs for these texts, in their order: the graph that reads them; or the encoder, if it has
// one, then the decoder. The decoder's target is the model's own answer, which is generated first (greedily, at most 32
// tokens), with all of its tokens at once. Every text is a row; empty sources are left out. Rows are padded to the
// longest: sources with id 0, targets with the end. Throws Error(usage) if the model takes no text or no text is left,
// Error(input) if a text is refused.
[[nodiscard]] std::vector<GraphRun> graph_runs(Session &session, const std::vector<std::string> &texts);

} // namespace lamina
