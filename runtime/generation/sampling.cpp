#include "generation/sampling.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

namespace lamina::generation {

double uniform(uint64_t seed, uint64_t text, uint64_t sample, uint64_t step) {
    uint64_t mixed = Random(seed).next();
    for (const uint64_t part : {text, sample, step}) mixed = Random(mixed ^ part).next();
    return static_cast<double>(mixed >> 11) * 0x1p-53;
}

int32_t draw(std::span<const double> log_probabilities, const GenerateOptions &options, double chance) {
    std::vector<size_t> order(log_probabilities.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t most = options.top_k > 0 ? std::min(options.top_k, order.size()) : order.size();
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(), [&](size_t a, size_t b) {
            return log_probabilities[a] != log_probabilities[b] ? log_probabilities[a] > log_probabilities[b] : a < b;
        });
    order.resize(most);

    std::vector<double> weights;
    for (const size_t token : order)
        weights.push_back(
            std::exp((log_probabilities[token] - log_probabilities[order.front()]) / options.temperature));
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double kept = 0;
    size_t n = 0;
    do kept += weights[n++];
    while (n < weights.size() && kept < options.top_p * all);
    while (n > 1 && weights[n - 1] < options.min_p) kept -= weights[--n]; // the likeliest has the weight 1

    double below = 0;
    for (size_t i = 0; i + 1 < n; ++i) {
        below += weights[i];
        if (chance * kept < below) return static_cast<int32_t>(order[i]);
    }
    return static_cast<int32_t>(order[n - 1]);
}

void penalize(std::span<float> scores, std::initializer_list<std::span<const int32_t>> texts, double penalty) {
    if (penalty == 1) return;
    std::set<int32_t> tokens;
    for (const auto text : texts) tokens.insert(text.begin(), text.end());
    for (const int32_t token : tokens) {
        if (token < 0 || static_cast<size_t>(token) >= scores.size()) continue;
        float &score = scores[static_cast<size_t>(token)];
        score = static_cast<float>(score > 0 ? score / penalty : score * penalty);
    }
}

void suppress(std::span<float> scores, std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) scores[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
}

} // namespace lamina::generation
