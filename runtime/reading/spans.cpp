#include "reading/spans.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace lamina::reading {

std::vector<size_t> window_starts(size_t tokens, size_t room, size_t shared) {
    std::vector<size_t> out{0};
    if (tokens <= room) return out;
    for (size_t begin = room - shared; begin + shared < tokens; begin += room - shared) out.push_back(begin);
    return out;
}

std::vector<double> probabilities(std::span<const float> values, size_t offset, const std::vector<bool> &counts) {
    std::vector<double> out(counts.size());
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < out.size(); ++i)
        if (counts[i]) most = std::max(most, double{values[2 * i + offset]});
    for (size_t i = 0; i < out.size(); ++i)
        if (counts[i]) sum += out[i] = std::exp(values[2 * i + offset] - most);
    for (double &each : out) each /= sum;
    return out;
}

std::vector<Span> best_spans(const std::vector<double> &begins, const std::vector<double> &ends, size_t longest,
                             size_t many) {
    std::vector<Span> out;
    for (size_t first = 0; first < begins.size(); ++first)
        for (size_t last = first; last < ends.size() && last - first < longest; ++last)
            if (const double score = begins[first] * ends[last]; score > 0) out.push_back({first, last, score});
    std::ranges::stable_sort(out, std::ranges::greater{}, &Span::score);
    if (out.size() > many) out.resize(many);
    return out;
}

} // namespace lamina::reading
