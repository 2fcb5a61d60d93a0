#pragma once

#include "generation/scores.hpp"

#include <vector>

namespace test {

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
