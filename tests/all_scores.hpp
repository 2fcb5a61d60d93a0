#pragma once

#include "generation/decoder.hpp"

#include <vector>

namespace test {

// A step with these tokens of each row.
inline std::span<const lamina::generation::Scores> step(lamina::generation::Decoder &decoder,
                                                        const std::vector<lamina::generation::Ids> &tokens) {
    return decoder.step(std::vector<std::span<const int32_t>>(tokens.begin(), tokens.end()));
}

// (rows, V)
inline std::vector<float> all_scores(std::span<const lamina::generation::Scores> rows) {
    std::vector<float> out;
    for (const lamina::generation::Scores &row : rows) {
        const std::span<const float> all = row.all();
        out.insert(out.end(), all.begin(), all.end());
    }
    return out;
}

} // namespace test
