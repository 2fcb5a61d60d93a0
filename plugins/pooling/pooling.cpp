// Pooling: one vector for each sequence. README.md has the maths.
#include <lamina/plugin.hpp>

#include "pooling.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

enum Kind : int64_t { mean, first, last, maximum, mean_sqrt_len, weighted_mean };
constexpr double least_norm = 1e-12; // as in torch.nn.functional.normalize

struct Pooling {
    static constexpr auto id = "pooling";
    static constexpr auto summary =
        "a mean, the first, the last or the maximum of a sequence's rows, optionally scaled to length 1";
    static constexpr auto source = "Reimers, Gurevych: Sentence-BERT, arXiv:1908.10084, section 3";

    static constexpr std::array params{
        choice("kind", "what becomes of a sequence's rows", "mean|first|last|max|mean_sqrt_len|weighted_mean"),
        boolean("normalize", "divide the result by its length: max(norm, 1e-12)", false),
        batch_first,
        integer("skip", "how many rows at the start of every sequence do not count, such as a class token", 0, 0,
                65536),
    };
    static constexpr std::array inputs{
        sequence(input("x", "B T C", "sequences")),
        optional(indices("lengths", "B", "0 T+1", "where a sequence ends: the row behind its last; T when left out")),
        optional(indices("starts", "B", "0 T+1", "how many rows at its start do not count; none when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B C", "a row for each sequence; zeros for one without rows that count")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("a workgroup takes 32 channels of a sequence, eight rows at a time"),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{
        "B=2 T=9 C=33",
        "B=3 T=67 C=129 +lengths normalize=1",
        "B=1 T=512 C=64",
        "B=2 T=17 C=31 kind=first",
        "B=4 T=5 C=65 kind=first +lengths lengths=zeros",
        "B=5 T=7 C=32 kind=last +lengths batch_first=0",
        "B=3 T=19 C=97 kind=last normalize=1",
        "B=3 T=37 C=63 kind=max +lengths",
        "B=2 T=8 C=257 kind=max normalize=1 batch_first=0",
        "B=2 T=257 C=40 batch_first=0 +lengths x=offset",
        "B=2 T=4 C=37 normalize=1 x=tiny",
        "B=1 T=1 C=1 +lengths lengths=one",
        "B=3 T=41 C=35 kind=mean_sqrt_len +lengths",
        "B=2 T=300 C=64 kind=weighted_mean",
        "B=5 T=23 C=33 kind=weighted_mean +lengths +starts batch_first=0",
        "B=6 T=19 C=34 kind=first +lengths +starts",
        "B=6 T=9 C=65 kind=last +lengths +starts",
        "B=4 T=30 C=31 kind=max +starts normalize=1",
        "B=3 T=7 C=40 kind=mean_sqrt_len +starts",
        "B=7 T=11 C=32 +lengths +starts",
        "B=2 T=17 C=33 skip=1",
        "B=2 T=5 C=64 kind=first skip=1",
        "B=6 T=9 C=35 kind=max skip=2 +lengths",
        "B=5 T=9 C=31 kind=weighted_mean skip=3 +lengths +starts",
        "B=2 T=4 C=32 kind=first skip=4",
    };

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), lengths = call.in("lengths"), starts = call.in("starts"), y = call.out("y");
        const Sequence s(x, call.flag("batch_first"));
        for (const int64_t b : call.wanted(y)) {
            const int64_t start = starts ? starts.i32()[static_cast<size_t>(b)] : 0,
                          begin = std::max<int64_t>(start, call.integer("skip")),
                          end = lengths ? lengths.i32()[static_cast<size_t>(b)] : s.length;
            std::vector<double> pooled(static_cast<size_t>(s.channels));
            double square = 0;
            for (size_t c = 0; c < pooled.size(); ++c) {
                pooled[c] = pool(call.integer("kind"), begin, end, [&](int64_t t) { return x.row(s.row(b, t))[c]; });
                square += pooled[c] * pooled[c];
            }
            const double norm = call.flag("normalize") ? std::max(std::sqrt(square), least_norm) : 1;
            std::ranges::transform(pooled, y.row(b).begin(), [&](double v) { return static_cast<float>(v / norm); });
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const Sequence s(x, call.flag("batch_first"));
        (void)u32(x.size()); // the kernels count elements in 32 bits
        const struct {
            uint32_t batch, length, cols, batch_stride, time_stride, skip;
        } push{u32(s.batch),        u32(s.length),      u32(s.channels),
               u32(s.batch_stride), u32(s.time_stride), u32(call.integer("skip"))};
        const bool normalize = call.flag("normalize");
        const lamina_ref pooled = normalize ? plan.scratch(s.batch * s.channels * 4) : plan.out("y");
        plan.dispatch(lamina_kernels::pooling, plan.spread(s.batch * ceil_div(s.channels, 32)),
                      {plan.in("x"), plan.in("lengths"), plan.in("starts"), pooled}, push,
                      {{0, u32(call.integer("kind"))},
                       {1, static_cast<bool>(call.in("lengths"))},
                       {2, static_cast<bool>(call.in("starts"))}});
        if (!normalize) return;
        const struct { uint32_t rows, cols; } rows{u32(s.batch), u32(s.channels)};
        plan.dispatch(lamina_kernels::normalize, plan.spread(s.batch), {pooled, plan.out("y")}, rows);
    }

  private:
    // Pools the rows from `begin` to `end` of one channel; `at` returns its value at a position.
    template <class At> static double pool(int64_t kind, int64_t begin, int64_t end, const At &at) {
        if (begin >= end) return 0;
        if (kind == first) return at(begin);
        if (kind == last) return at(end - 1);
        double sum = 0, weights = 0, greatest = at(begin);
        for (int64_t t = begin; t < end; ++t) {
            const double weight = kind == weighted_mean ? static_cast<double>(t + 1) : 1;
            sum += weight * at(t), weights += weight;
            greatest = std::max<double>(greatest, at(t));
        }
        if (kind == maximum) return greatest;
        return sum / (kind == mean_sqrt_len ? std::sqrt(weights) : weights);
    }
};

} // namespace

LAMINA_PLUGIN(Pooling)
