#include "generation/timestamps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::generation {
namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

// log(sum(exp(scores))); -infinity of none.
double log_sum_exp(std::span<const float> scores) {
    double most = -std::numeric_limits<double>::infinity();
    for (const float score : scores) most = std::max(most, double{score});
    if (std::isinf(most)) return most;
    double sum = 0;
    for (const float score : scores) sum += std::exp(score - most);
    return most + std::log(sum);
}

} // namespace

void apply_timestamp_rules(std::span<float> scores, std::span<const int32_t> text,
                           const model::TimestampTokens &timestamps, int32_t end) {
    const int32_t first = timestamps.first();
    const auto words = scores.first(static_cast<size_t>(first)), times = scores.subspan(static_cast<size_t>(first));
    const auto is_time = [&](int32_t token) { return token >= first; };
    const auto exclude = [](std::span<float> which) { std::ranges::fill(which, impossible); };

    words[static_cast<size_t>(timestamps.none)] = impossible;
    const bool last = !text.empty() && is_time(text.back());
    const bool before = text.size() < 2 || is_time(text[text.size() - 2]);
    if (last) exclude(before ? times : words.first(std::min(words.size(), static_cast<size_t>(end))));
    const auto latest = std::find_if(text.rbegin(), text.rend(), is_time);
    if (latest != text.rend()) // the second of a pair may be like the first
        exclude(times.first(std::min(times.size(), static_cast<size_t>(*latest - first) + (last && !before ? 0 : 1))));
    if (text.empty()) {
        exclude(words);
        if (timestamps.latest) exclude(times.subspan(std::min(times.size(), size_t{1} + *timestamps.latest)));
    }
    if (log_sum_exp(times) > *std::ranges::max_element(words)) exclude(words);
}

Heard segments_of(std::span<const int32_t> text, const model::TimestampTokens &timestamps, double seconds) {
    const int32_t first = timestamps.first();
    const auto is_time = [&](size_t i) { return text[i] >= first; };
    const auto time = [&](size_t i) { return std::max(text[i] - first, 0) * timestamps.step; };
    const size_t n = text.size();
    std::vector<size_t> ends; // of segments: between the timestamps of a pair
    for (size_t i = 1; i < n; ++i)
        if (is_time(i - 1) && is_time(i)) ends.push_back(i);
    Heard out{.end = seconds};
    const auto add = [&](double begin, double end, std::span<const int32_t> tokens) {
        out.segments.push_back({.begin = begin, .end = end, .text = {}, .tokens = {tokens.begin(), tokens.end()}});
    };
    if (ends.empty()) { // all of it is one, which ends at the last timestamp, if it is not the first one
        const auto last = std::find_if(text.rbegin(), text.rend(), [&](int32_t token) { return token >= first; });
        const bool told = last != text.rend() && *last != first;
        add(0,
            told ? (*last - first) * timestamps.step : std::floor(seconds / timestamps.step + 1e-6) * timestamps.step,
            text);
        return out;
    }
    const bool is_whole = is_time(n - 1) && !is_time(n - 2); // nothing is said behind the last one
    if (is_whole)
        ends.push_back(n);
    else if (const double heard = time(ends.back() - 1); heard > 0)
        out.end = heard;
    for (size_t from = 0; const size_t end : ends) {
        add(time(from), time(end - 1), text.subspan(from, end - from));
        from = end;
    }
    return out;
}

} // namespace lamina::generation
