// The k largest values of each row. README.md has the maths.
#include <lamina/plugin.hpp>

#include "top_k.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

struct TopK {
    static constexpr auto id = "top_k";
    static constexpr auto summary = "the k largest scores of each row, and what softmax needs of all";
    static constexpr auto source = "y = sort(x + bias), falling; as torch.topk, with ties in the order of indices";

    static constexpr int64_t most = 128; // k; the kernels sort what is best in shared memory

    static constexpr std::array params{
        required(integer("k", "how many values of a row", 1, 1, most)),
    };
    static constexpr std::array inputs{
        input("x", "... V", "scores"),
        optional(input("bias", "V", "added to the scores of every row")),
    };
    static constexpr std::array outputs{
        by_rows(output("values", "... k", "the largest x + bias, falling")),
        by_rows(
            indices("indices", "... k", nullptr, "where they are in the row; of equal values the first comes first")),
        by_rows(
            output("sum", "... 1", "of exp(x + bias - values[0]) over the row; NaN if a score is NaN or +infinity")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("an invocation finds the best of a few scores; a workgroup chooses among them and their neighbours"),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{
        "B=2 V=113 k=1",
        "B=2 T=3 V=64 k=64",
        "B=1 V=128 k=128 +bias",
        "B=3 V=512 k=7",
        "B=3 V=513 k=16 +bias",
        "B=2 V=2048 k=128 x=large",
        "B=1 T=1 V=1 k=1",
        "B=2 V=777 k=20 x=zeros",
        "B=2 V=3001 k=128 x=zeros",
        "B=2 V=4099 k=64 x=one_hot",
        "B=2 V=1025 k=33 +bias bias=huge",
        "B=1 V=1031 k=32 x=offset",
        "B=2 V=49152 k=64 x=large +bias",
        "B=1 V=151936 k=64",
    };

    static void check(const Call &call) {
        const int64_t size = call.in("x").cols(), k = call.integer("k");
        if (k > size)
            throw Invalid("k: expected at most the " + std::to_string(size) + " scores of a row, found " +
                          std::to_string(k));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), bias = call.in("bias"), values = call.out("values"), sum = call.out("sum");
        const std::span<int32_t> indices = call.out("indices").i32();
        const auto k = static_cast<size_t>(call.integer("k"));
        std::vector<float> scores;
        for (const int64_t r : call.wanted(values)) {
            scores.assign(x.row(r).begin(), x.row(r).end());
            for (size_t v = 0; v < scores.size() && bias; ++v) scores[v] += bias.f32()[v];
            const auto order = largest(scores, k);
            for (size_t i = 0; i < k; ++i) {
                values.row(r)[i] = scores[static_cast<size_t>(order[i])];
                indices[static_cast<size_t>(r) * k + i] = order[i];
            }
            sum.row(r)[0] = static_cast<float>(sum_of_exponentials(scores));
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        (void)u32(x.size()); // the kernels count elements in 32 bits
        const int64_t rows = x.rows(), size = x.cols(), sets = ceil_div(size, ceil_div(size, most_sets));
        const struct { uint32_t rows, size, sets, k; } push{u32(rows), u32(size), u32(sets), u32(call.integer("k"))};
        const std::initializer_list<lamina_spec> biased{{0, static_cast<bool>(call.in("bias"))}};
        const lamina_ref best = plan.scratch(rows * sets * 4), sums = plan.scratch(rows * sets * 4);
        plan.dispatch(lamina_kernels::best_of_sets, plan.spread(rows * ceil_div(sets, 64)),
                      {plan.in("x"), plan.in("bias"), best, sums}, push, biased);
        plan.dispatch(
            lamina_kernels::top_k, plan.spread(rows),
            {plan.in("x"), plan.in("bias"), best, sums, plan.out("values"), plan.out("indices"), plan.out("sum")}, push,
            biased);
    }

  private:
    static constexpr int64_t most_sets = 512; // as in top_k.comp; more than `most`

    // The indices of the k largest, the largest first. NaN counts as -infinity, so that there is an order.
    static std::vector<int32_t> largest(const std::vector<float> &scores, size_t k) {
        const auto value = [&](int32_t i) {
            const float v = scores[static_cast<size_t>(i)];
            return std::isnan(v) ? -std::numeric_limits<float>::infinity() : v;
        };
        std::vector<int32_t> order(scores.size());
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                          [&](int32_t a, int32_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
        order.resize(k);
        return order;
    }

    static double sum_of_exponentials(const std::vector<float> &scores) {
        double maximum = std::numeric_limits<float>::lowest(), sum = 0; // finite: see softmax
        for (const double v : scores)
            if (v > maximum) maximum = v;
        for (const double v : scores) sum += std::exp(v - maximum);
        return sum;
    }
};

} // namespace

LAMINA_PLUGIN(TopK)
