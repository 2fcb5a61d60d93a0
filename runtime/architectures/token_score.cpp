#include "architectures/token_score.hpp"

#include "architectures/config.hpp"
#include "architectures/sentence_modules.hpp"

#include <vector>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

// The tokens' entries of a tensor of the head, one after the other.
model::Weight entries_of(const model::Weight &tensor, const TokenScore &score) {
    std::vector<model::Weight> out{tensor.entry(score.wanted)};
    if (score.other) out.push_back(tensor.entry(*score.other));
    return model::Weight::stacked(out);
}

} // namespace

std::optional<TokenScore> read_token_score(const fs::path &folder) {
    constexpr const char *kind = "LogitScore";
    const std::vector<SentenceModule> modules = sentence_modules_in(folder);
    for (const SentenceModule &module : modules) {
        if (module.kind != kind) continue;
        if (modules.size() != 2 || modules[0].kind != "Transformer" || transformer_task(folder) != "text-generation")
            throw Error(ErrorCode::input,
                        (folder / "modules.json").string() +
                            ": LogitScore is supported here only behind a single Transformer with the "
                            "transformer_task text-generation");
        const fs::path file = module.folder / "config.json";
        const JsonText document(text_of(file), file.string());
        const Config config(document.root());
        TokenScore out{.wanted = config.integer("true_token_id"),
                       .other = config.optional_integer("false_token_id"),
                       .place = file.string()};
        config.expect("module_input_name", "causal_logits");
        config.finish();
        return out;
    }
    return std::nullopt;
}

GraphWriter::Tensor token_score(GraphWriter &graph, model::Weights &weights, const WordsHead &head,
                                const TokenScore &score, const GraphWriter::Tensor &last) {
    const Shape &shape = weights.at(head.weight).type.shape;
    for (const int64_t token : {score.wanted, score.other.value_or(score.wanted)})
        if (token < 0 || token >= shape.at(0))
            throw Error(ErrorCode::input, score.place + ": expected ids of tokens from 0 to " +
                                              std::to_string(shape.at(0) - 1) + ", found " + std::to_string(token));
    const std::string name = "lm_head.asked";
    weights.add(name + ".weight", entries_of(weights.at(head.weight), score));
    if (!head.bias.empty()) weights.add(name + ".bias", entries_of(weights.at(head.bias), score));
    GraphWriter::Tensor out = graph.linear(name, last, {.outputs = score.other ? 2 : 1, .biased = !head.bias.empty()});
    if (head.softcap != 0)
        out = graph.layer(name + ".softcap", "activation", {{"x", out}},
                          {{"activation", "tanh"}, {"scale", head.softcap}});
    if (!score.other) return out;
    Tensor difference(TensorType{DType::f32, {1, 2}});
    difference.f32()[0] = 1, difference.f32()[1] = -1;
    weights.add("score.weight", model::Weight::of(std::move(difference)));
    return graph.linear("score", out, {.outputs = 1, .biased = false});
}

} // namespace lamina::architectures
