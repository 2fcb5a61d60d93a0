// The selective scan of Mamba and Mamba-2, with or without a state. README.md has the maths.
#include <lamina/plugin.hpp>
#include <lamina/plugin/chunks.hpp>

#include "selective_scan.kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {
using namespace lamina::plugin;

// Where the parts of a row of x begin, and what its sizes are.
struct Heads {
    int64_t count, groups, state_dim, value_dim;

    explicit Heads(const Call &call)
        : count(call.integer("heads")), groups(call.integer("groups")), state_dim(call.integer("state_dim")),
          value_dim(call.out("y").cols() / count) {}

    [[nodiscard]] int64_t value(int64_t head) const { return head * value_dim; }
    [[nodiscard]] int64_t key(int64_t head) const { return count * value_dim + group(head) * state_dim; }
    [[nodiscard]] int64_t query(int64_t head) const { return key(head) + groups * state_dim; }

  private:
    [[nodiscard]] int64_t group(int64_t head) const { return head / (count / groups); }
};

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

struct SelectiveScan {
    static constexpr auto id = "selective_scan";
    static constexpr auto summary =
        "what queries read from a state that fades and takes in values under keys, token by token";
    static constexpr auto source = "Dao, Gu: Transformers are SSMs (Mamba-2), arXiv:2405.21060, sections 2 and 7; Gu, "
                                   "Dao: Mamba, arXiv:2312.00752, section 3";

    static constexpr std::array params{
        required(integer("heads", "states, each with values of its own", 1, 1)),
        integer("groups", "of keys and queries, each shared by heads / groups neighbouring heads", 1, 1),
        required(integer("state_dim", "channels of a key and a query", 1, 1, 256)),
        integer("rates", "of a state: 1, or state_dim if each of its rows has its own, as in Mamba", 1, 1, 256),
        real("min_step", "the least that a token moves a state", 0, 0, 1e6),
        real("max_step", "and the most; 0: no limit", 0, 0, 1e6),
    };
    static constexpr std::array inputs{
        input("x", "B T heads*E+2*groups*state_dim", "for each token the values, then the keys, then the queries"),
        input("step", "B T heads", "how far a token moves states, before the softplus"),
        optional(indices("position", "B", "0 2147483647", "of a sequence's first token; at 0 its states are empty")),
        optional(indices("lengths", "B", "0 T+1", "how many of a sequence's tokens count; all when left out")),
    };
    static constexpr std::array weights{
        weight("log_rate", "heads*rates", "the logarithm of how fast a state fades with its steps"),
        weight("offset", "heads", "added to `step`"),
        optional(weight("skip", "heads", "times the values, added to the result; 0 when left out")),
    };
    static constexpr std::array outputs{
        output("y", "B T heads*E", "what each token reads, the heads side by side; 0 for those that do not count"),
    };
    static constexpr std::array states{
        goes_with(state("state", "B heads state_dim E", nullptr, "the states after earlier tokens"), "position"),
    };

    static constexpr auto work = "5*state_dim";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("eight invocations for each column of a state, which they keep in registers"),
        variant("chunked", "for 16 tokens or more and one rate: 16 at a time, by products of matrices", 0),
    };
    static constexpr std::array tolerances{tolerance(5e-5, 5e-6)};
    static constexpr std::array cases{
        "B=1 T=1 heads=1 state_dim=1 E=1",
        "B=2 T=5 heads=4 groups=2 state_dim=16 E=8 +skip",
        "B=2 T=9 heads=6 groups=2 state_dim=20 E=17",
        "B=1 T=67 heads=2 state_dim=128 E=33 +skip",
        "B=1 T=130 heads=3 state_dim=64 E=64 weights=f16 +skip",
        "B=2 T=3 heads=2 state_dim=256 E=40 weights=bf16",
        "B=3 T=1 heads=4 groups=2 state_dim=128 E=64 +position +state +skip",
        "B=2 T=1 heads=4 state_dim=24 E=16 +position +state position=zeros",
        "B=5 T=7 heads=2 state_dim=32 E=20 +position +state +lengths +skip",
        "B=3 T=2 heads=3 state_dim=19 E=5 +position +state +lengths lengths=zeros",
        "B=2 T=40 heads=4 groups=4 state_dim=96 E=48 +position +state",
        "B=2 T=6 heads=2 state_dim=12 E=9 +lengths +position",
        "B=4 T=53 heads=4 groups=2 state_dim=44 E=21 +position +state +lengths +skip",
        "B=2 T=3 heads=4 state_dim=128 E=9 +position +state position=one",
        "B=1 T=19 heads=2 state_dim=16 E=16 min_step=0.5 max_step=0.75 step=large",
        "B=1 T=300 heads=1 state_dim=8 E=8 x=offset +skip",
        "B=2 T=70 heads=8 state_dim=16 E=8 step=overflow",
        "B=2 T=9 heads=37 state_dim=16 E=1 rates=16 +skip",
        "B=3 T=1 heads=48 groups=2 state_dim=16 E=1 rates=16 +position +state +skip",
        "B=2 T=6 heads=6 groups=2 state_dim=20 E=5 rates=20 +position +state +lengths weights=f16",
        "B=2 T=3 heads=10 groups=2 state_dim=12 E=3 +position +state position=one",
    };

    static void check(const Call &call) {
        const int64_t heads = call.integer("heads"), groups = call.integer("groups");
        if (heads % groups != 0)
            throw Invalid("heads must be a multiple of groups: found " + std::to_string(heads) + " and " +
                          std::to_string(groups));
        if (const int64_t rates = call.integer("rates"); rates != 1 && rates != call.integer("state_dim"))
            throw Invalid("rates must be 1 or state_dim: found " + std::to_string(rates) + " and " +
                          std::to_string(call.integer("state_dim")));
        if (call.real("min_step") > longest_step(call))
            throw Invalid("min_step must be at most max_step: found " + std::to_string(call.real("min_step")) +
                          " and " + std::to_string(call.real("max_step")));
        if (call.state("state") && !call.in("position"))
            throw Invalid("state is given without a position, which says whether a sequence has begun: give both");
    }

    static void reference(const Call &call) {
        const Tensor y = call.out("y"), lengths = call.in("lengths");
        const Heads heads(call);
        std::ranges::fill(y.f32(), 0.0F);
        for (int64_t b = 0; b < y.dim(0); ++b)
            for (int64_t h = 0; h < heads.count; ++h)
                follow(call, heads, b, h, lengths ? lengths.i32()[static_cast<size_t>(b)] : y.dim(1));
    }

    static void plan(const Call &call, Plan &plan) {
        constexpr int64_t columns = 16, lanes = 8; // of a workgroup; invocations for each column
        const Tensor x = call.in("x"), y = call.out("y"), state = call.state("state");
        const Heads heads(call);
        const int64_t together = heads.count / heads.groups * heads.value_dim; // columns that share keys
        const int64_t batch = y.dim(0), values = batch * heads.count * heads.state_dim * heads.value_dim;
        (void)u32(x.size()), (void)u32(y.size()), (void)u32(values); // the kernel counts elements in 32 bits
        const struct {
            uint32_t sequences, steps, heads, groups, state_dim, value_dim;
            float min_step, max_step;
        } push{u32(batch),
               u32(y.dim(1)),
               u32(heads.count),
               u32(heads.groups),
               u32(heads.state_dim),
               u32(heads.value_dim),
               static_cast<float>(call.real("min_step")),
               static_cast<float>(longest_step(call))};
        // Without a state, states end in memory that nobody reads.
        const lamina_ref after =
            state ? plan.state("state") : plan.scratch(values * static_cast<int64_t>(sizeof(float)));
        const lamina_spec of_rate{0, dtype_of(call.weight("log_rate"))}, of_offset{1, dtype_of(call.weight("offset"))},
            of_skip{2, dtype_of(call.weight("skip"))}, has_state{3, static_cast<bool>(state)},
            has_lengths{4, static_cast<bool>(call.in("lengths"))};
        if (plan.variant == 1) {
            if (call.integer("rates") != 1) throw Unsupported("each row of a state fades at a rate of its own");
            const Chunks chunks(y.dim(1), heads.state_dim, Chunks::adds);
            const lamina_ref found = plan.scratch(chunks.bytes(call, batch * heads.count));
            plan.dispatch(lamina_kernels::selective_scan_chunk, plan.spread(batch * heads.count * chunks.count),
                          {plan.in("x"), plan.in("step"), plan.in("lengths"), plan.weight("log_rate"),
                           plan.weight("offset"), plan.weight("skip"), found},
                          push, {of_rate, of_offset, of_skip, has_lengths, chunks.rows});
            return plan.dispatch(lamina_kernels::selective_scan_apply,
                                 plan.spread(batch * heads.count * ceil_div(heads.value_dim, columns)),
                                 {plan.in("x"), plan.in("position"), plan.in("lengths"), found, after, plan.out("y")},
                                 push, {has_state, has_lengths, chunks.rows});
        }
        plan.dispatch(lamina_kernels::selective_scan, plan.spread(batch * heads.groups * ceil_div(together, columns)),
                      {plan.in("x"), plan.in("step"), plan.in("position"), plan.in("lengths"), plan.weight("log_rate"),
                       plan.weight("offset"), plan.weight("skip"), after, plan.out("y")},
                      push,
                      {of_rate,
                       of_offset,
                       of_skip,
                       has_state,
                       has_lengths,
                       {5, u32(ceil_div(heads.state_dim, lanes))},
                       {6, call.integer("rates") != 1}});
    }

  private:
    static double longest_step(const Call &call) {
        const double most = call.real("max_step");
        return most == 0 ? std::numeric_limits<float>::max() : most;
    }
    // The first tokens of a sequence, one after the other, in one head.
    static void follow(const Call &call, const Heads &heads, int64_t b, int64_t h, int64_t tokens) {
        const Tensor x = call.in("x"), y = call.out("y"), position = call.in("position"), state = call.state("state"),
                     skip = call.weight("skip");
        const auto rows = static_cast<size_t>(heads.state_dim), columns = static_cast<size_t>(heads.value_dim),
                   head = static_cast<size_t>(h);
        std::vector<double> own(rows * columns);
        std::span<float> kept;
        if (state) kept = state.f32().subspan(static_cast<size_t>(b * heads.count + h) * own.size(), own.size());
        if (state && position.i32()[static_cast<size_t>(b)] > 0) std::ranges::copy(kept, own.begin());
        const auto rates = static_cast<size_t>(call.integer("rates"));
        const auto log_rate = call.weight("log_rate").f32().subspan(head * rates, rates);
        const double offset = call.weight("offset").f32()[head];
        std::vector<double> fade(rows);
        for (int64_t t = 0; t < tokens; ++t) {
            const int64_t r = b * y.dim(1) + t;
            const auto part = [&](int64_t first, size_t size) {
                return x.row(r).subspan(static_cast<size_t>(first), size);
            };
            const auto value = part(heads.value(h), columns), key = part(heads.key(h), rows),
                       query = part(heads.query(h), rows);
            const double moved =
                std::clamp(softplus(call.in("step").row(r)[head] + offset), call.real("min_step"), longest_step(call));
            for (size_t i = 0; i < rows; ++i)
                fade[i] = std::exp(-std::exp(static_cast<double>(log_rate[rates == 1 ? 0 : i])) * moved);
            for (size_t j = 0; j < columns; ++j) {
                double sum = skip ? static_cast<double>(skip.f32()[head]) * value[j] : 0;
                for (size_t i = 0; i < rows; ++i) {
                    double &at = own[i * columns + j];
                    at = fade[i] * at + moved * key[i] * value[j];
                    sum += query[i] * at;
                }
                y.row(r)[static_cast<size_t>(heads.value(h)) + j] = static_cast<float>(sum);
            }
        }
        if (state) std::ranges::transform(own, kept.begin(), [](double v) { return static_cast<float>(v); });
    }
};

} // namespace

LAMINA_PLUGIN(SelectiveScan)
