// A small untrained language model over letters.
#pragma once

#include <lamina/transformer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace test {

struct Letters {
    float ends = -1e4F; // how likely texts are to end: never by themselves
    int64_t layers = 2;
    int64_t positions = 5000; // tokens that a text may have
    static constexpr int64_t d_model = 16, ffn = 32, vocabulary = 28;
};

inline lamina::ModelDescription letters(const Letters &how = {}) {
    std::vector<std::string> tokens{"<s>", "</s>"};
    for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
    const lamina::DecoderOnly model{
        .embedding = {.d_model = how.d_model, .vocabulary = how.vocabulary, .max_len = how.positions},
        .decoder = {.layer = {.d_model = how.d_model, .heads = 2, .ffn = how.ffn}, .layers = how.layers},
        .generator = {.d_model = how.d_model, .vocabulary = how.vocabulary}};
    const lamina::TextVocabularies text{.target = tokens, .target_characters = true, .max_length = 20};
    lamina::ModelDescription built = build(model, {.name = "letters", .seed = 5, .text = text});
    built.weights.at("generator.bias").f32()[1] = how.ends; // "</s>"
    return built;
}

} // namespace test
