// Texts as a model sees them: their token ids, and the graphs that it runs for them. With these you can look inside a
// model that takes text. To generate text, Session::generate() in lamina.hpp is enough.
//
//     for (const lamina::GraphRun &run : lamina::graph_runs(session, {"vulkan"}))
//         for (const auto &[name, tensor] : session.run(run.graph, run.inputs, {"*"}))
//             std::cout << name << ": " << lamina::to_string(tensor.shape()) << '\n';
#pragma once

#include <lamina/lamina.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

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

// The graphs that the model runs for these texts, in their order: the encoder, if it has one, then the decoder. The
// decoder's target is the model's own answer, which is generated first (greedily), with all of its tokens at once.
// Every text is a row; empty sources are left out. Rows are padded to the longest: sources with id 0, targets with the
// end. Throws Error(usage) if the model takes no text or no text is left, Error(input) if a text is refused.
[[nodiscard]] std::vector<GraphRun> graph_runs(Session &session, const std::vector<std::string> &texts);

} // namespace lamina
