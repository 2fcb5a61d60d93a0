#include "generation/filters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace lamina::generation {
namespace {

// In nats; a weight of 0 adds nothing.
double entropy_of(std::span<const double> weights) {
    const double all = sum_of(weights);
    double out = 0;
    for (const double w : weights)
        if (w > 0) out -= w / all * std::log(w / all);
    return out;
}

// Drops tokens of less probability, but never the likeliest.
void keep_above(Ranked &tokens, double probability) {
    const std::span<double> weights = tokens.weights;
    if (tokens.least > weights.size()) return;
    std::vector<double> ranked(weights.begin(), weights.end());
    const auto last = ranked.begin() + static_cast<std::ptrdiff_t>(tokens.least) - 1;
    std::ranges::nth_element(ranked, last, std::greater<>());
    const double wanted = probability * sum_of(weights);
    for (double &w : weights)
        if (w < wanted && w < *last) w = 0;
}

// ---- Filters ----

// The likeliest that have at most this fraction of the entropy, at least one (Potraghloo et al., arXiv:2509.02510).
void top_h(Ranked &tokens, const GenerateOptions &options) {
    if (options.top_h == 0) return;
    constexpr size_t most = 100; // are looked at
    const std::span<const double> weights = tokens.weights.first(std::min(most, tokens.weights.size()));
    const double all = sum_of(weights), limit = options.top_h * entropy_of(weights);
    size_t n = 0;
    for (double found = 0; n < weights.size(); ++n) {
        if (const double p = weights[n] / all; p > 0) found -= p * std::log(p);
        if (n > 0 && found > limit) break;
    }
    tokens.cut(n);
}

// Those whose scores are near the best, in standard deviations of all scores (Tang et al., arXiv:2411.07641).
void top_n_sigma(Ranked &tokens, const GenerateOptions &options) {
    if (options.top_n_sigma == 0) return;
    double sum = 0, squares = 0, count = 0;
    for (const double p : tokens.log_probabilities)
        if (std::isfinite(p)) sum += p, count += 1;
    for (const double p : tokens.log_probabilities)
        if (std::isfinite(p)) squares += (p - sum / count) * (p - sum / count);
    const double least = tokens.log_probabilities.front() - options.top_n_sigma * std::sqrt(squares / count);
    const auto end = std::ranges::find_if(tokens.log_probabilities, [&](double p) { return p < least; });
    tokens.cut(std::max(static_cast<size_t>(end - tokens.log_probabilities.begin()), tokens.least));
}

void top_k(Ranked &tokens, const GenerateOptions &options) {
    if (options.top_k > 0) tokens.cut(std::max(options.top_k, tokens.least));
}

// Holtzman et al., arXiv:1904.09751.
void top_p(Ranked &tokens, const GenerateOptions &options) {
    if (options.top_p == 1) return;
    const double wanted = options.top_p * sum_of(tokens.weights);
    size_t n = 0;
    double found = 0;
    do found += tokens.weights[n++];
    while (n < tokens.weights.size() && (n < tokens.least || found < wanted));
    tokens.cut(n);
}

void min_p(Ranked &tokens, const GenerateOptions &options) {
    size_t n = tokens.weights.size();
    while (n > tokens.least && tokens.weights[n - 1] < options.min_p * tokens.weights.front()) --n;
    tokens.cut(n);
}

// The tokens whose log probabilities are closest to their mean and that together have this much probability (Meister et
// al., arXiv:2202.00666).
void typical_p(Ranked &tokens, const GenerateOptions &options) {
    if (options.typical_p == 1) return;
    const std::span<double> weights = tokens.weights;
    const double all = sum_of(weights), entropy = entropy_of(weights);
    const auto distance = [&](size_t i) { return std::abs(-std::log(weights[i] / all) - entropy); };
    std::vector<size_t> order(weights.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, distance);
    double found = 0;
    size_t last = 0;
    for (; last + 1 < order.size() && (found += weights[order[last]]) < options.typical_p * all;) ++last;
    const double farthest = distance(order[last]);
    for (const size_t i : std::span(order).subspan(std::min(tokens.least, order.size())))
        if (distance(i) > farthest) weights[i] = 0;
}

// Hewitt et al., arXiv:2210.15191, both.
void epsilon_cutoff(Ranked &tokens, const GenerateOptions &options) {
    if (options.epsilon_cutoff > 0) keep_above(tokens, options.epsilon_cutoff);
}

void eta_cutoff(Ranked &tokens, const GenerateOptions &options) {
    if (const double eta = options.eta_cutoff; eta > 0)
        keep_above(tokens, std::min(eta, std::sqrt(eta) * std::exp(-entropy_of(tokens.weights))));
}

// Exclude top choices (github.com/oobabooga/text-generation-webui, pull request 6335): now and then, of several tokens
// that are likely enough, only the least likely stays.
void xtc(Ranked &tokens, const GenerateOptions &options) {
    if (!(tokens.chance < options.xtc_probability)) return;
    const double wanted = options.xtc_threshold * sum_of(tokens.weights);
    double *last = nullptr;
    for (double &w : tokens.weights) {
        if (w == 0) continue;
        if (w < wanted) break;
        if (last != nullptr) *last = 0;
        last = &w;
    }
}

// Basu et al., arXiv:2007.14966, algorithm 2. Of the likeliest that is left, the surprise does not count.
void mirostat(Ranked &tokens, const GenerateOptions &options) {
    if (options.mirostat == 0) return;
    const double least = sum_of(tokens.weights) * std::exp2(-tokens.most_surprise);
    bool first = true;
    for (double &w : tokens.weights) {
        if (w == 0 || std::exchange(first, false)) continue;
        if (w < least) w = 0;
    }
}

using Filter = void (*)(Ranked &tokens, const GenerateOptions &options);
constexpr std::array<Filter, 10> filters{top_h,     top_n_sigma,    top_k,      top_p, min_p,
                                         typical_p, epsilon_cutoff, eta_cutoff, xtc,   mirostat};

} // namespace

double sum_of(std::span<const double> weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

void Ranked::cut(size_t kept) {
    if (kept >= weights.size()) return;
    std::ranges::fill(weights.subspan(kept), 0.0);
    weights = weights.first(kept);
}

void leave_out(Ranked tokens, const GenerateOptions &options) {
    for (const Filter filter : filters) filter(tokens, options);
}

bool has_rare_filters(const GenerateOptions &options) {
    return options.top_h > 0 || options.top_n_sigma > 0 || options.typical_p < 1 || options.epsilon_cutoff > 0 ||
           options.eta_cutoff > 0 || options.xtc_probability > 0 || options.mirostat != 0;
}

} // namespace lamina::generation
