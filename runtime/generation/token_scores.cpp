#include "generation/token_scores.hpp"

#include "generation/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lamina::generation {

double shift_of(std::span<const float> scores) {
    const double most = *std::max_element(scores.begin(), scores.end());
    if (most == -std::numeric_limits<double>::infinity()) return 0;
    double sum = 0;
    for (const float s : scores) sum += std::exp(s - most);
    return most + std::log(sum);
}

bool TokenScores::take(const Scores &scores) {
    if (scores.tokens.empty() || scores.tokens.size() < std::min(likeliest_, scores.vocabulary)) return false;
    all_ = false;
    tokens_.assign(scores.tokens.begin(), scores.tokens.end());
    scores_.assign(scores.best.begin(), scores.best.end());
    shift_ = scores.best.front() + std::log(scores.sum);
    return true;
}

void TokenScores::take_all(std::span<const float> scores, std::span<const int32_t> suppressed) {
    all_ = true;
    scores_.assign(scores.begin(), scores.end());
    suppress(scores_, suppressed);
    shift_ = shift_of(scores_);
    tokens_.resize(scores_.size());
    std::iota(tokens_.begin(), tokens_.end(), 0);
    const auto count = static_cast<std::ptrdiff_t>(std::min(likeliest_, tokens_.size()));
    const auto score = [this](int32_t token) { return scores_[static_cast<size_t>(token)]; };
    std::partial_sort(tokens_.begin(), tokens_.begin() + count, tokens_.end(),
                      [&](int32_t a, int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    tokens_.resize(static_cast<size_t>(count));
}

double TokenScores::log_probability(int32_t token) const {
    if (all_) return scores_[static_cast<size_t>(token)] - shift_;
    return scores_[static_cast<size_t>(std::ranges::find(tokens_, token) - tokens_.begin())] - shift_;
}

ScoredToken TokenScores::of(int32_t token) const {
    ScoredToken out{{token, {}, log_probability(token)}, {}};
    for (const int32_t each : std::span(tokens_).first(std::min(likeliest_, tokens_.size())))
        out.likeliest.push_back({each, {}, log_probability(each)});
    return out;
}

} // namespace lamina::generation
