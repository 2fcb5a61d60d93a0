#include "generation/sampling.hpp"

#include "base/random.hpp"
#include "generation/filters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace lamina::generation {

Chances chances_of(uint64_t seed, uint64_t text, uint64_t sample, uint64_t step) {
    return {uniform(seed, text, sample, step), uniform(seed, text, ~sample, step)};
}

double uniform(uint64_t seed, uint64_t text, uint64_t sample, uint64_t step) {
    uint64_t mixed = Random(seed).next();
    for (const uint64_t part : {text, sample, step}) mixed = Random(mixed ^ part).next();
    return static_cast<double>(mixed >> 11) * 0x1p-53;
}

void SampleMemory::take(double share, const GenerateOptions &options) {
    if (options.mirostat == 0) return;
    most_surprise_ = most_surprise(options) - options.mirostat_eta * (-std::log2(share) - options.mirostat_tau);
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
    const double low = tokens.partly ? 0 : estimates(std::max(0.0, all * (1 - error) - known)).first;
    const double high = estimates(std::max(0.0, all * (1 + error) - known)).second;
    return {std::isfinite(low) ? std::min(low, most) : 0, std::isfinite(high) ? std::min(high, most) : most};
}

// As how much the others count.
enum class Others { least, most };

// The place at `chance`, if all weights add up to `all`.
std::optional<size_t> place_of(std::span<const double> weights, Others others, double all,
                               const GenerateOptions &options, double chance) {
    double kept = 0;
    size_t n = 0;
    do kept += weights[n++];
    while (n < weights.size() && kept < options.top_p * all);
    const double wanted = options.top_p * all;
    const bool beyond = kept < wanted && weights.back() >= options.min_p;
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

// The place at `chance` of weights that are all known.
size_t place_of(std::span<const double> weights, double chance) {
    const double all = sum_of(weights);
    size_t last = 0;
    double below = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] == 0) continue;
        below += weights[last = i];
        if (chance * all < below) break;
    }
    return last;
}

} // namespace

// The more the others weigh, the further back is the token. So it is the same for all that they may weigh if it is for
// the least and the most.
std::optional<size_t> draw(const Likeliest &tokens, const GenerateOptions &options, Chances chances,
                           SampleMemory &memory, std::vector<double> &weights) {
    weights.resize(tokens.log_probabilities.size());
    std::ranges::transform(tokens.log_probabilities, weights.begin(), [&](double p) {
        return std::exp((p - tokens.log_probabilities.front()) / options.temperature);
    });
    if (tokens.others == 0) {
        leave_out({weights, tokens.log_probabilities, 1, chances.filter, memory.most_surprise(options)}, options);
        const size_t place = place_of(weights, chances.token);
        memory.take(weights[place] / sum_of(weights), options);
        return place;
    }
    const double known = sum_of(weights);
    const Bounds others = sum_of_others(tokens, weights, options.temperature);
    const auto first = place_of(weights, Others::least, known + others.low, options, chances.token);
    const auto last = place_of(weights, Others::most, known + others.high, options, chances.token);
    return first == last ? first : std::nullopt;
}

bool samples_beams(const GenerateOptions &options) {
    return options.temperature > 0 && options.beams_compete && options.beams.value() > 1;
}

double perturbation(double chance) { return -std::log(-std::log(chance + 0x1p-54)); } // finite at 0, too

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
