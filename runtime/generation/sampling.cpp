#include "generation/sampling.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
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
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return log_probabilities[a] > log_probabilities[b]; });
    if (options.top_k > 0 && options.top_k < order.size()) order.resize(options.top_k);

    std::vector<double> weights;
    for (const size_t token : order)
        weights.push_back(
            std::exp((log_probabilities[token] - log_probabilities[order.front()]) / options.temperature));
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double kept = 0;
    size_t n = 0;
    do kept += weights[n++];
    while (n < weights.size() && kept < options.top_p * all);

    double below = 0;
    for (size_t i = 0; i + 1 < n; ++i) {
        below += weights[i];
        if (chance * kept < below) return static_cast<int32_t>(order[i]);
    }
    return static_cast<int32_t>(order[n - 1]);
}

} // namespace lamina::generation
