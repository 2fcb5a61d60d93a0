// The router of a mixture of experts: which experts compute each token, and what the result of each counts. README.md
// has the maths.
#include <lamina/plugin.hpp>

#include "router.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

enum Scoring : uint32_t { by_softmax, by_sigmoid };      // in the order of the choices
enum GroupScore : uint32_t { of_the_best, of_two_best }; // likewise

constexpr int64_t most_experts = 1024, most_chosen = 64, most_groups = 64; // as in router.comp

// One row, in the reference.
class Row {
  public:
    Row(const Call &call, std::span<const float> x)
        : k_(static_cast<size_t>(call.integer("k"))), groups_(static_cast<size_t>(call.integer("groups"))),
          kept_groups_(static_cast<size_t>(call.integer("kept_groups"))), group_(x.size() / groups_),
          softmax_(call.integer("scoring") == by_softmax), normalize_(call.flag("normalize")),
          scale_(call.real("scale")), factors_(call.weight("factors")) {
        for (const float v : x) {
            numbers_ = numbers_ && !std::isnan(v) && v != std::numeric_limits<float>::infinity();
            x_.push_back(static_cast<float>(finite(v)));
        }
        const std::vector<double> scores = scores_of(softmax_ ? softmax_sum() : 1);
        const Tensor bias = call.weight("bias");
        for (size_t e = 0; e < x_.size(); ++e) values_.push_back(bias ? finite(scores[e] + bias.f32()[e]) : x_[e]);
        for (size_t g = 0; g < groups_; ++g)
            group_values_.push_back(group_value(g, call.integer("group_score") == of_two_best));
    }

    // The best k experts of the best groups, falling.
    [[nodiscard]] std::vector<size_t> choice() const {
        return best(values_, of_groups(best(group_values_, {}, kept_groups_)), k_);
    }

    // What each result counts.
    [[nodiscard]] std::vector<double> weights(const std::vector<size_t> &chosen) const {
        double sum = softmax_ ? softmax_sum() : 1;
        if (normalize_ && softmax_) sum = softmax_sum(chosen);
        const std::vector<double> scores = scores_of(sum, softmax_ && normalize_ ? chosen : std::vector<size_t>());
        double all = normalize_ && !softmax_ ? 1e-20 : 1;
        for (const size_t e : chosen) all += normalize_ && !softmax_ ? scores[e] : 0;
        std::vector<double> out;
        for (const size_t e : chosen)
            out.push_back(numbers_ ? scores[e] / all * scale_ * (factors_ ? factors_.f32()[e] : 1) : std::nan(""));
        return out;
    }

    // How clear a choice is, among groups and within those that are kept: all that it uses, and the best of the others.
    [[nodiscard]] double margin(const std::vector<size_t> &chosen) const {
        std::vector<bool> taken(x_.size()), used(groups_);
        for (const size_t e : chosen) taken[e] = true, used[e / group_] = true;
        const std::vector<size_t> kept = best(group_values_, used, kept_groups_);
        std::vector<bool> is_kept(groups_);
        for (const size_t g : kept) is_kept[g] = true;
        return std::min(clearness(group_values_, is_kept, {}), clearness(values_, taken, of_groups(kept)));
    }

  private:
    static constexpr float most = std::numeric_limits<float>::max();
    const size_t k_, groups_, kept_groups_, group_; // group_: experts in a group
    const bool softmax_, normalize_;
    const double scale_;
    const Tensor factors_;
    bool numbers_ = true;        // neither NaN nor +infinity
    std::vector<float> x_;       // finite
    std::vector<double> values_; // what experts are chosen by
    std::vector<double> group_values_;

    static double finite(double v) { return std::isnan(v) ? -most : std::clamp<double>(v, -most, most); }

    // The greatest of some scores, or of all.
    [[nodiscard]] double maximum(const std::vector<size_t> &of) const {
        float out = of.empty() ? *std::ranges::max_element(x_) : -most;
        for (const size_t e : of) out = std::max(out, x_[e]);
        return out;
    }
    [[nodiscard]] double softmax_sum(const std::vector<size_t> &of = {}) const {
        double sum = 0;
        for (size_t i = 0; i < (of.empty() ? x_.size() : of.size()); ++i)
            sum += std::exp(x_[of.empty() ? i : of[i]] - maximum(of));
        return sum;
    }
    // softmax over some or all, or sigmoid.
    [[nodiscard]] std::vector<double> scores_of(double sum, const std::vector<size_t> &of = {}) const {
        const double shift = maximum(of);
        std::vector<double> out;
        for (const double v : x_)
            out.push_back(softmax_ ? std::exp(v - shift) / sum
                          : v < 0  ? std::exp(v) / (1 + std::exp(v))
                                   : 1 / (1 + std::exp(-v)));
        return out;
    }
    [[nodiscard]] double group_value(size_t g, bool two_best) const {
        std::vector<double> of_group(values_.begin() + static_cast<std::ptrdiff_t>(g * group_),
                                     values_.begin() + static_cast<std::ptrdiff_t>((g + 1) * group_));
        std::ranges::sort(of_group, std::greater());
        return two_best && group_ > 1 ? finite(of_group[0] + of_group[1]) : of_group[0];
    }
    [[nodiscard]] std::vector<bool> of_groups(const std::vector<size_t> &groups) const {
        std::vector<bool> out(x_.size());
        for (const size_t g : groups) std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(g * group_), group_, true);
        return out;
    }
    // The indices of the greatest `count` values, of which those marked come first. Of equal ones, the first.
    static std::vector<size_t> best(const std::vector<double> &values, const std::vector<bool> &marked, size_t count) {
        const auto mark = [&](size_t i) { return !marked.empty() && marked[i]; };
        std::vector<size_t> order(values.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(
            order, [&](size_t a, size_t b) { return mark(a) != mark(b) ? mark(a) : values[a] > values[b]; });
        order.resize(count);
        return order;
    }
    // By how much the least of the values that are taken is greater than the greatest of the others, of those that
    // count (if empty, all): relative to the greater magnitude, 2 if there are no others.
    static double clearness(const std::vector<double> &values, const std::vector<bool> &taken,
                            const std::vector<bool> &count) {
        double least = most, other = -most;
        bool others = false;
        for (size_t i = 0; i < values.size(); ++i) {
            if (taken[i])
                least = std::min(least, values[i]);
            else if (count.empty() || count[i])
                other = std::max(other, values[i]), others = true;
        }
        const double magnitude = std::max(std::abs(least), std::abs(other));
        return !others ? 2 : magnitude == 0 ? 0 : (least - other) / magnitude;
    }
};

struct Router {
    static constexpr auto id = "router";
    static constexpr auto summary = "the k experts with the best scores for each token, and what each counts";
    static constexpr auto source =
        "Shazeer et al.: Outrageously Large Neural Networks, arXiv:1701.06538, section 2.1; groups and the bias of the "
        "choice: DeepSeek-AI: DeepSeek-V3, arXiv:2412.19437, section 2.1.2";

    static constexpr std::array params{
        required(integer("k", "how many experts compute a token", 1, 1, most_chosen)),
        choice("scoring", "what makes scores of x: softmax over the experts, or sigmoid", "softmax|sigmoid"),
        boolean("normalize", "whether the weights of a token are divided by their sum", true),
        real("scale", "factor of the weights", 1, -1e6, 1e6),
        integer("groups", "groups of neighbouring experts, of the same size", 1, 1, most_groups),
        follows(integer("kept_groups", "the best groups, of which experts are chosen", 1, 1, most_groups), "groups"),
        choice("group_score", "what groups are chosen by: their best value, or the sum of the two best",
               "best|two_best"),
    };
    static constexpr std::array inputs{
        input("x", "... E", "one number for each expert, before softmax or sigmoid"),
        optional(indices("chosen", "... k", "0 E", "the experts, if they are already chosen")),
    };
    static constexpr std::array weights{
        optional(weight("bias", "E", "added to the scores for the choice, not for the weights")),
        optional(weight("factors", "E", "times the weight of each expert, at the end")),
    };
    static constexpr std::array outputs{
        by_rows(chosen(indices("experts", "... k", "0 E", "the chosen experts, the best first"), "chosen")),
        by_rows(output("weights", "... k", "what the result of each counts")),
        by_rows(
            margin(output("margin", "... 1", "how clear the choice is: 0 if another is as good, 2 if all are chosen"))),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("a workgroup of 64 per token, which ranks the experts in shared memory"),
    };
    static constexpr std::array tolerances{tolerance(1e-5, 2e-6)};
    static constexpr std::array cases{
        "B=2 T=3 E=8 k=2",
        "B=2 T=3 E=64 k=8 normalize=0",
        "B=1 T=5 E=128 k=8 x=large",
        "B=1 T=5 E=60 k=4 normalize=0 x=offset",
        "B=3 E=32 k=4 +chosen",
        "B=1 T=1 E=1 k=1 scoring=sigmoid normalize=0",
        "B=2 T=2 E=5 k=5 x=infinite",
        "B=2 T=3 E=256 k=8 scoring=sigmoid groups=8 kept_groups=4 group_score=two_best scale=2.5 +bias",
        "B=2 T=3 E=160 k=6 groups=8 kept_groups=3 normalize=0 scale=16",
        "B=1 T=5 E=64 k=6 scoring=sigmoid +bias x=large",
        "B=1 T=5 E=64 k=6 +bias",
        "B=2 T=3 E=128 k=8 +factors",
        "B=1 T=5 E=64 k=6 scoring=sigmoid normalize=0 +bias +factors weights=f16",
        "B=1 T=3 E=130 k=10 x=zeros +bias bias=zeros",
        "B=1 T=3 E=48 k=6 x=equal groups=6 kept_groups=2 group_score=two_best",
        "B=1 T=3 E=12 k=3 groups=12 kept_groups=4 scoring=sigmoid +bias +chosen",
        "B=1 T=2 E=1024 k=64",
        "B=1 T=2 E=1024 k=64 groups=64 kept_groups=9 scoring=sigmoid +bias",
    };

    static void check(const Call &call) {
        const int64_t experts = call.in("x").cols(), groups = call.integer("groups"), k = call.integer("k");
        const int64_t kept = call.integer("kept_groups");
        if (experts > most_experts)
            throw Invalid("expected at most " + std::to_string(most_experts) + " experts, found " +
                          std::to_string(experts));
        if (experts % groups != 0)
            throw Invalid("groups: expected a number that divides the " + std::to_string(experts) +
                          " experts evenly, found " + std::to_string(groups));
        if (kept > groups)
            throw Invalid("kept_groups: expected at most the " + std::to_string(groups) + " groups, found " +
                          std::to_string(kept));
        if (k > experts / groups * kept)
            throw Invalid("k: expected at most the " + std::to_string(experts / groups * kept) +
                          (kept < groups ? " experts of the groups that are kept" : " experts") + ", found " +
                          std::to_string(k));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), given = call.in("chosen"), margin = call.out("margin");
        const std::span<int32_t> experts = call.out("experts").i32();
        const auto k = static_cast<size_t>(call.integer("k"));
        for (const int64_t r : call.wanted(margin)) {
            const Row row(call, x.row(r));
            const auto at = static_cast<size_t>(r) * k;
            std::vector<size_t> chosen =
                given ? std::vector<size_t>(given.i32().begin() + static_cast<std::ptrdiff_t>(at),
                                            given.i32().begin() + static_cast<std::ptrdiff_t>(at + k))
                      : row.choice();
            const std::vector<double> counts = row.weights(chosen);
            for (size_t i = 0; i < k; ++i) {
                experts[at + i] = static_cast<int32_t>(chosen[i]);
                call.out("weights").row(r)[i] = static_cast<float>(counts[i]);
            }
            margin.row(r)[0] = static_cast<float>(row.margin(chosen));
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        (void)u32(x.size()); // the kernel counts elements in 32 bits
        const struct {
            uint32_t rows, experts, k, groups, kept_groups, two_best, sigmoid, normalize;
            float scale;
        } push{u32(x.rows()),
               u32(x.cols()),
               u32(call.integer("k")),
               u32(call.integer("groups")),
               u32(call.integer("kept_groups")),
               u32(call.integer("group_score")),
               u32(call.integer("scoring")),
               u32(call.integer("normalize")),
               static_cast<float>(call.real("scale"))};
        plan.dispatch(lamina_kernels::router, plan.spread(x.rows()),
                      {plan.in("x"), plan.in("chosen"), plan.weight("bias"), plan.out("experts"), plan.out("weights"),
                       plan.out("margin"), plan.weight("factors")},
                      push,
                      {{0, static_cast<bool>(call.in("chosen"))},
                       {1, dtype_of(call.weight("bias"))},
                       {2, dtype_of(call.weight("factors"))}});
    }
};

} // namespace

LAMINA_PLUGIN(Router)
