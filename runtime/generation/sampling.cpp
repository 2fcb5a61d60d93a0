#include "generation/sampling.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace lamina::generation {

double uniform(uint64_t seed, uint64_t text, uint64_t sample, uint64_t step) {
    uint64_t mixed = Random(seed).next();
    for (const uint64_t part : {text, sample, step}) mixed = Random(mixed ^ part).next();
    return static_cast<double>(mixed >> 11) * 0x1p-53;
}

namespace {

// The least and the greatest that a sum may be.
struct Bounds {
    double low, high;
};

// The sum of the weights of the others, where that of the likeliest is 1. At temperature 1 they have the probability
// that is left. Otherwise two estimates bound it: one as if each of them had the weight of the last token that is
// known, and one as if all had the same.
Bounds sum_of_others(const Likeliest &tokens, std::span<const double> weights, double temperature) {
    constexpr double error = 1e-4; // of the sum of all that a device computes: more than any tolerance
    const double all = std::exp(-tokens.log_probabilities.front());
    double known = 0;
    for (const double p : tokens.log_probabilities) known += std::exp(p - tokens.log_probabilities.front());
    const auto n = static_cast<double>(tokens.others);
    const auto estimates = [&](double left) {
        const double as_last = left * std::pow(weights.back(), 1 - temperature);
        const double as_equals = n * std::pow(left / n, 1 / temperature);
        return std::minmax({as_last, as_equals});
    };
    const double most = n * weights.back();
    const double low = estimates(std::max(0.0, all * (1 - error) - known)).first;
    const double high = estimates(std::max(0.0, all * (1 + error) - known)).second;
    return {std::isfinite(low) ? std::min(low, most) : 0, std::isfinite(high) ? std::min(high, most) : most};
}

enum class Others { none, least, most }; // as how many of them count, where that is not known

// The place at `chance`, if all weights add up to `all`.
std::optional<size_t> place_of(std::span<const double> weights, Others others, double all,
                               const GenerateOptions &options, double chance) {
    double kept = 0;
    size_t n = 0;
    do kept += weights[n++];
    while (n < weights.size() && kept < options.top_p * all);
    const double wanted = options.top_p * all;
    const bool beyond = others != Others::none && kept < wanted && weights.back() >= options.min_p;
    if (beyond && others == Others::most) kept = std::min(all, wanted + weights.back());
    if (beyond && others == Others::least && options.min_p == 0) kept = wanted;      // else it may drop all of them
    while (!beyond && n > 1 && weights[n - 1] < options.min_p) kept -= weights[--n]; // the likeliest has the weight 1
    double below = 0;
    for (size_t i = 0; i < n; ++i) {
        below += weights[i];
        if (chance * kept < below) return i;
    }
    return beyond ? std::nullopt : std::optional(n - 1);
}

} // namespace

// The more the others weigh, the further back is the token. So it is the same for all that they may weigh if it is for
// the least and the most.
std::optional<size_t> draw(const Likeliest &tokens, const GenerateOptions &options, double chance,
                           std::vector<double> &weights) {
    weights.resize(tokens.log_probabilities.size());
    std::ranges::transform(tokens.log_probabilities, weights.begin(), [&](double p) {
        return std::exp((p - tokens.log_probabilities.front()) / options.temperature);
    });
    const double known = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (tokens.others == 0) return place_of(weights, Others::none, known, options, chance);
    const Bounds others = sum_of_others(tokens, weights, options.temperature);
    const auto first = place_of(weights, Others::least, known + others.low, options, chance);
    const auto last = place_of(weights, Others::most, known + others.high, options, chance);
    return first == last ? first : std::nullopt;
}

void penalize(std::span<float> scores, std::span<int32_t> tokens, double penalty) {
    std::ranges::sort(tokens);
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (i > 0 && tokens[i] == tokens[i - 1]) continue;
        if (tokens[i] < 0 || static_cast<size_t>(tokens[i]) >= scores.size()) continue;
        float &score = scores[static_cast<size_t>(tokens[i])];
        score = static_cast<float>(score > 0 ? score / penalty : score * penalty);
    }
}

void suppress(std::span<float> scores, std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) scores[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
}

} // namespace lamina::generation
