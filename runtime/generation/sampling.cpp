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
    const double low = tokens.partly ? 0 : estimates(std::max(0.0, all * (1 - error) - known)).first;
    const double high = estimates(std::max(0.0, all * (1 + error) - known)).second;
    return {std::isfinite(low) ? std::min(low, most) : 0, std::isfinite(high) ? std::min(high, most) : most};
}

double sum_of(std::span<const double> weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

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

// In nats; a weight of 0 adds nothing.
double entropy_of(std::span<const double> weights) {
    const double all = sum_of(weights);
    double out = 0;
    for (const double w : weights)
        if (w > 0) out -= w / all * std::log(w / all);
    return out;
}

// How many of the likeliest tokens have at most this fraction of their entropy, at least one.
size_t within_entropy(std::span<const double> weights, double fraction) {
    constexpr size_t most = 100; // are looked at
    weights = weights.first(std::min(most, weights.size()));
    const double all = sum_of(weights), limit = fraction * entropy_of(weights);
    size_t n = 0;
    for (double found = 0; n < weights.size(); ++n) {
        if (const double p = weights[n] / all; p > 0) found -= p * std::log(p);
        if (n > 0 && found > limit) break;
    }
    return n;
}

// How many of the likeliest tokens reach this fraction of the probability, at least `least`, which is above 0.
size_t within_probability(std::span<const double> weights, double fraction, size_t least) {
    const double wanted = fraction * sum_of(weights);
    size_t n = 0;
    double found = 0;
    do found += weights[n++];
    while (n < weights.size() && (n < least || found < wanted));
    return n;
}

// Keeps the tokens whose log probabilities are closest to their mean and that together have this much probability.
void keep_typical(std::span<double> weights, double mass, size_t least) {
    const double all = sum_of(weights), entropy = entropy_of(weights);
    const auto distance = [&](size_t i) { return std::abs(-std::log(weights[i] / all) - entropy); };
    std::vector<size_t> order(weights.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, distance);
    double found = 0;
    size_t last = 0;
    for (; last + 1 < order.size() && (found += weights[order[last]]) < mass * all;) ++last;
    const double farthest = distance(order[last]);
    for (const size_t i : std::span(order).subspan(std::min(least, order.size())))
        if (distance(i) > farthest) weights[i] = 0;
}

// Drops tokens of less probability, but never the `least` likeliest.
void keep_above(std::span<double> weights, double probability, size_t least) {
    if (least > weights.size()) return;
    std::vector<double> ranked(weights.begin(), weights.end());
    const auto last = ranked.begin() + static_cast<std::ptrdiff_t>(least) - 1;
    std::ranges::nth_element(ranked, last, std::greater<>());
    const double wanted = probability * sum_of(weights);
    for (double &w : weights)
        if (w < wanted && w < *last) w = 0;
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
    if (tokens.others == 0) {
        leave_out(weights, options);
        return place_of(weights, chance);
    }
    const double known = sum_of(weights);
    const Bounds others = sum_of_others(tokens, weights, options.temperature);
    const auto first = place_of(weights, Others::least, known + others.low, options, chance);
    const auto last = place_of(weights, Others::most, known + others.high, options, chance);
    return first == last ? first : std::nullopt;
}

void leave_out(std::span<double> weights, const GenerateOptions &options, size_t least) {
    size_t n = weights.size();
    if (options.top_h > 0) n = within_entropy(weights, options.top_h);
    if (options.top_k > 0) n = std::min(n, std::max(options.top_k, least));
    if (options.top_p < 1) n = within_probability(weights.first(n), options.top_p, least);
    while (n > least && weights[n - 1] < options.min_p * weights.front()) --n;
    std::ranges::fill(weights.subspan(n), 0.0);
    if (options.typical_p < 1) keep_typical(weights.first(n), options.typical_p, least);
    if (options.epsilon_cutoff > 0) keep_above(weights.first(n), options.epsilon_cutoff, least);
    if (const double eta = options.eta_cutoff; eta > 0)
        keep_above(weights.first(n), std::min(eta, std::sqrt(eta) * std::exp(-entropy_of(weights))), least);
}

bool samples_beams(const GenerateOptions &options) {
    return options.temperature > 0 && options.beams_compete && options.beams.value() > 1;
}

double perturbation(double chance) { return -std::log(-std::log(chance + 0x1p-54)); } // finite at 0, too

bool has_rare_filters(const GenerateOptions &options) {
    return options.top_h > 0 || options.typical_p < 1 || options.epsilon_cutoff > 0 || options.eta_cutoff > 0;
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
