#include "architectures/gguf_pooling.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

using model::GgufValue;

constexpr int64_t no_pooling = 0, pooled_scores = 4;                          // llama.h, llama_pooling_type
constexpr std::array<const char *, 3> gguf_poolings{"mean", "first", "last"}; // 1 to 3
constexpr std::array<const char *, 2> of_matrices{"dense_2", "dense_3"};      // in this order, behind the pooling
constexpr const char *asked_rows = "cls.output.weight";                       // of tokens that a reranker is asked for

} // namespace

std::vector<SentenceModules::Matrix> GgufPooling::matrices() const {
    std::vector<SentenceModules::Matrix> out;
    for (const std::string name : of_matrices) {
        const auto found = file_.weights.entries().find(name + ".weight");
        if (found == file_.weights.entries().end()) continue;
        const Shape &shape = found->second.type.shape;
        const int64_t outputs = shape.size() < 2 ? 1 : shape.front(), inputs = shape.empty() ? 1 : shape.back();
        for (const auto &[key, size] : {std::pair{"_feat_in", inputs}, {"_feat_out", outputs}})
            if (const GgufValue *said = file_.find(name + key); said != nullptr && said->integer() != size)
                said->fail("expected " + std::to_string(size) + ", as " + in_quotes(found->first) + " has it");
        out.push_back({name, outputs, file_.weights.entries().contains(name + ".bias")});
    }
    const GgufValue *said = file_.find("embedding_length_out");
    if (said != nullptr && out.empty())
        said->fail("expected a matrix behind the model that gives so many channels, 'dense_2.weight'");
    if (said != nullptr && said->integer() != out.back().outputs)
        said->fail("expected " + std::to_string(out.back().outputs) + ", as " + in_quotes(out.back().name + ".weight") +
                   " has it");
    return out;
}

std::optional<SentenceModules> GgufPooling::sentences() const {
    const std::vector<SentenceModules::Matrix> behind = matrices();
    const GgufValue *pooling = file_.find("pooling_type");
    if (pooling == nullptr || pooling->integer() == no_pooling) {
        if (behind.empty()) return std::nullopt;
        throw Error(ErrorCode::input,
                    file_.weights.file().string() + ": a model with a vector for each token (ColBERT): it has " +
                        in_quotes(behind.front().name + ".weight") +
                        " and no pooling. GGUF files do not say how queries and documents differ for such a model: "
                        "take its Hugging Face folder");
    }
    if (pooling->integer() == pooled_scores && (kind_.encoder || token_score())) return std::nullopt;
    if (pooling->integer() < 0 || pooling->integer() > static_cast<int64_t>(gguf_poolings.size()))
        pooling->fail(std::to_string(pooling->integer()) +
                      " is not supported here; supported: 0 (none), 1 (mean), 2 (cls) and 3 (last)");
    return SentenceModules::with_pooling(gguf_poolings.at(static_cast<size_t>(pooling->integer()) - 1), behind);
}

std::optional<TokenScore> GgufPooling::token_score() const {
    const GgufValue *pooling = file_.find("pooling_type"), *labels = file_.find("classifier.output_labels");
    if (kind_.encoder || pooling == nullptr || pooling->integer() != pooled_scores || labels == nullptr ||
        !file_.weights.entries().contains(asked_rows))
        return std::nullopt;
    if (!std::ranges::equal(labels->strings(), std::array<std::string_view, 2>{"yes", "no"}))
        labels->fail("only the labels yes and no are supported for " + in_quotes(std::string(kind_.architecture)));
    return TokenScore{.wanted = 0, .other = 1, .place = place_, .rows = asked_rows};
}

} // namespace lamina::architectures
