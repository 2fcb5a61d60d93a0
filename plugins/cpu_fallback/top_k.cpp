// The k largest scores of each row. A row is read in parts, each by a thread: the greatest score of each block of 64,
// and the sum of exponentials. No more than k blocks have one of the k best scores, because the best of any other has
// the best of k blocks before it; so only these are read again.
#include "kernels.hpp"
#include "scores.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t part_blocks = 1 << 8; // a part takes longer than waking a thread

// What the parts of all rows leave.
struct Parts {
    struct Sum {
        float shift;
        double sum;
    };
    std::vector<float> maxima; // of blocks
    std::vector<Sum> sums;     // of parts
};

double total(std::span<const Parts::Sum> parts) {
    float shift = std::numeric_limits<float>::lowest();
    for (const Parts::Sum &part : parts) shift = std::max(shift, part.shift);
    double sum = 0;
    for (const Parts::Sum &part : parts)
        sum += part.sum == 0 ? 0 : part.sum * std::exp(static_cast<double>(part.shift) - shift);
    return sum;
}

struct Place {
    float value;
    int32_t index;
    // Before another: a total order. NaN counts as -infinity.
    bool operator<(const Place &other) const {
        return value != other.value ? value > other.value : index < other.index;
    }
};

Place place_of(float value, int64_t index) {
    return {std::isnan(value) ? -std::numeric_limits<float>::infinity() : value, static_cast<int32_t>(index)};
}

// The k best of a row; `maxima` are those of its blocks.
void best_of_row(const Scores &scores, int64_t size, std::span<const float> maxima, std::vector<Place> &best,
                 size_t k) {
    thread_local std::vector<Place> blocks;
    blocks.clear();
    for (size_t b = 0; b < maxima.size(); ++b) blocks.push_back({maxima[b], static_cast<int32_t>(b)});
    float least = std::numeric_limits<float>::lowest(); // that any of the best has
    if (blocks.size() > k) {
        std::nth_element(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(k) - 1, blocks.end());
        least = blocks[k - 1].value;
    }
    if (least > std::numeric_limits<float>::lowest())
        blocks.resize(k);
    else // scores of -infinity may be among the best
        least = -std::numeric_limits<float>::infinity();
    best.clear();
    for (const Place &block : blocks) {
        const int64_t first = block.index * block_scores;
        for (int64_t i = first; i < std::min(size, first + block_scores); ++i)
            if (const float v = scores[i]; !(v < least)) best.push_back(place_of(v, i));
    }
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(k), best.end());
}

} // namespace

void top_k(const Call &call) {
    const Tensor x = call.in("x"), bias = call.in("bias"), values = call.out("values");
    const std::span<int32_t> indices = call.out("indices").i32();
    const std::span<float> sums = call.out("sum").f32();
    const int64_t rows = x.rows(), size = x.cols(), k = call.integer("k");
    const int64_t blocks = (size + block_scores - 1) / block_scores, parts = (blocks + part_blocks - 1) / part_blocks;
    const auto scores_of = [&](int64_t row, int64_t at) {
        return Scores{x.f32().data() + row * size + at, bias ? bias.f32().data() + at : nullptr};
    };

    thread_local Parts kept; // memory, for the next call
    Parts &of_parts = kept;  // the caller's, on all threads
    of_parts.maxima.resize(static_cast<size_t>(rows * blocks));
    of_parts.sums.resize(static_cast<size_t>(rows * parts));
    in_ranges(rows * parts, 1, [&](int64_t first, int64_t end) {
        for (int64_t p = first; p < end; ++p) {
            const int64_t row = p / parts, block = p % parts * part_blocks, at = block * block_scores;
            const int64_t n = std::min(size - at, part_blocks * block_scores);
            const Scores scores = scores_of(row, at);
            float *const maxima = of_parts.maxima.data() + row * blocks + block;
            block_maxima(scores, n, maxima);
            const float shift = *std::max_element(maxima, maxima + (n + block_scores - 1) / block_scores);
            of_parts.sums[static_cast<size_t>(p)] = {shift, sum_of_exponentials(scores, n, shift)};
        }
    });
    in_ranges(rows, part_blocks, [&](int64_t first, int64_t end) {
        thread_local std::vector<Place> best;
        for (int64_t row = first; row < end; ++row) {
            const std::span maxima = std::span(of_parts.maxima).subspan(static_cast<size_t>(row * blocks));
            best_of_row(scores_of(row, 0), size, maxima.first(static_cast<size_t>(blocks)), best,
                        static_cast<size_t>(k));
            for (int64_t i = 0; i < k; ++i) {
                values.f32()[static_cast<size_t>(row * k + i)] = best[static_cast<size_t>(i)].value;
                indices[static_cast<size_t>(row * k + i)] = best[static_cast<size_t>(i)].index;
            }
            sums[static_cast<size_t>(row)] = static_cast<float>(
                total(std::span(of_parts.sums).subspan(static_cast<size_t>(row * parts), static_cast<size_t>(parts))));
        }
    });
}

} // namespace lamina::plugin::cpu_fallback
