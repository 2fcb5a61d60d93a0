// The experts of a mixture: for each token, the feed-forward layers that were chosen for it. README.md has the maths.
#include <lamina/plugin/product.hpp>

#include "experts.kernels.hpp"

namespace {
using namespace lamina::plugin;

// One expert's part of a stack of weights, as a tensor; left out if the stack is.
class Slice {
  public:
    Slice(const Tensor &stack, int64_t expert) {
        if (!stack) return;
        tensor_.dtype = stack.dtype(), tensor_.rank = static_cast<uint32_t>(stack.rank() - 1);
        for (int axis = 1; axis < stack.rank(); ++axis) tensor_.dim[axis - 1] = stack.dim(axis);
        tensor_.data = stack.f32().data() + expert * (stack.size() / stack.dim(0));
    }
    [[nodiscard]] Tensor tensor() const { return Tensor(tensor_); }

  private:
    lamina_tensor tensor_{};
};

struct Experts {
    static constexpr auto id = "experts";
    static constexpr auto summary =
        "for each token, the sum of its chosen experts' feed-forward layers, plain or gated";
    static constexpr auto source = "Shazeer et al.: Outrageously Large Neural Networks, arXiv:1701.06538; alpha, limit "
                                   "and offset: OpenAI: gpt-oss, "
                                   "arXiv:2508.10925";

    static constexpr std::array params{
        activation_param,
        real("alpha", "the activation is act(alpha * x) / alpha", 1, 1e-3, 1e3),
        real("limit", "gates are at most this, and what they are multiplied with is within it; 0: no limit", 0, 0, 1e6),
        real("offset", "added to what the gate is multiplied with", 0, -1e6, 1e6),
    };
    static constexpr std::array inputs{
        input("x", "... C", "tokens"),
        indices("experts", "... K", "0 E", "the experts of each token"),
        input("shares", "... K", "what the result of each counts"),
        optional(input("residual", "... C", "added to the result")),
    };
    static constexpr std::array weights{
        in_blocks(weight("up_weight", "E H C", "to the hidden layers")),
        optional(weight("up_bias", "E H", "added to the hidden layers' products; 0 when left out")),
        in_blocks(optional(
            weight("gate_weight", "E H C", "to the gates; when given, the activation is applied to the gates"))),
        optional(weight("gate_bias", "E H", "added to the gates' products; 0 when left out")),
        in_blocks(weight("down_weight", "E C H", "back to the tokens")),
        optional(weight("down_bias", "E C", "added to the results; 0 when left out")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "... C", "tokens")),
    };

    static constexpr auto work = "4*K*H gate_weight:2*K*H";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("pairs of token and expert in the order of experts; sums in registers, no shared memory"),
        variant("tiled", "tiles of 32 or 64 rows in shared memory; for few tokens, invocations along K", 0),
        variant("subgroup", "for few tokens: as tiled, sums joined by subgroups first", subgroup_sums),
    };
    enum Variant : uint32_t { in_registers, in_tiles, by_subgroup };
    static constexpr std::array tolerances{
        tolerance(5e-5, 5e-6), tolerance(2e-3, 1e-3, LAMINA_F16),
        tolerance(1e-1, 1e-2, LAMINA_Q8_0), // models have values that make all others of their block inexact
    };
    static constexpr std::array cases{
        "B=1 T=1 C=1 H=1 E=1 K=1",
        "B=1 T=1 C=64 H=48 E=8 K=2 activation=silu +gate_weight",
        "B=2 T=9 C=64 H=96 E=4 K=2 activation=silu +gate_weight +residual",
        "B=2 T=9 C=37 H=41 E=5 K=3 activation=gelu +up_bias +down_bias weights=f16",
        "B=1 T=67 C=52 H=36 E=3 K=2 activation=gelu_tanh +gate_weight +gate_bias +up_bias +down_bias weights=bf16",
        "B=1 T=40 C=48 H=68 E=2 K=1 activation=silu alpha=1.702 limit=7 offset=1 +gate_weight +up_bias +gate_bias "
        "+down_bias",
        "B=1 T=3 C=64 H=32 E=16 K=4 activation=silu alpha=1.702 limit=0.5 offset=1 +gate_weight x=large",
        "B=1 T=19 C=96 H=64 E=4 K=2 activation=silu +gate_weight weights=q8_0",
        "B=1 T=2 C=64 H=96 E=4 K=2 activation=silu +gate_weight weights=q4_0 gate_weight=q5_0 down_weight=q5_1",
        "B=1 T=9 C=256 H=256 E=3 K=2 activation=silu +gate_weight weights=q4_k gate_weight=q5_k down_weight=q6_k",
        "B=1 T=5 C=32 H=96 E=2 K=1 activation=relu weights=q4_1 +residual",
        "B=1 T=130 C=36 H=40 E=7 K=2 activation=silu +gate_weight experts=every",
        "B=1 T=130 C=36 H=40 E=7 K=2 activation=silu +gate_weight experts=one",
        "B=1 T=33 C=44 H=20 E=64 K=8 activation=silu +gate_weight shares=large",
    };

    static void check(const Call &call) {
        if (const int64_t found = call.in("experts").cols(); found > most_chosen)
            throw Invalid("expected at most " + std::to_string(most_chosen) + " experts for a token, found " +
                          std::to_string(found));
        if (call.weight("gate_weight")) return;
        if (call.weight("gate_bias"))
            throw Invalid("gate_bias is given without gate_weight: give both, or leave both out");
        for (const char *const name : {"limit", "offset"})
            if (call.real(name) != 0)
                throw Invalid(std::string(name) + ": expected 0 without gate_weight, found " +
                              std::to_string(call.real(name)));
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), residual = call.in("residual"), y = call.out("y"), shares = call.in("shares");
        const std::span<const int32_t> experts = call.in("experts").i32();
        const auto per_token = static_cast<size_t>(shares.cols());
        for (const int64_t r : call.wanted(y)) {
            std::vector<double> sum(static_cast<size_t>(y.cols()));
            for (size_t c = 0; c < sum.size() && residual; ++c) sum[c] = residual.row(r)[c];
            for (size_t k = 0; k < per_token; ++k) {
                const std::vector<double> one =
                    of_expert(call, x.row(r), experts[static_cast<size_t>(r) * per_token + k]);
                for (size_t c = 0; c < sum.size(); ++c) sum[c] += one[c] * shares.row(r)[k];
            }
            std::ranges::transform(sum, y.row(r).begin(), [](double v) { return static_cast<float>(v); });
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const int64_t tokens = call.in("x").rows(), block = tokens_per_binding(call);
        for (int64_t first = 0; first < tokens; first += block)
            Block(call, plan, first, std::min(block, tokens - first)).run();
    }

  private:
    static std::vector<double> of_expert(const Call &call, std::span<float> x, int64_t expert) {
        const auto product = [&](const auto &row, const std::string &name) {
            const Slice weight(call.weight(name + "_weight"), expert), bias(call.weight(name + "_bias"), expert);
            return product_reference(row, weight.tensor(), bias.tensor());
        };
        const Activation activation = activation_of(call);
        const double alpha = call.real("alpha"), limit = call.real("limit"), offset = call.real("offset");
        std::vector<double> hidden = product(x, "up");
        if (call.weight("gate_weight")) {
            const std::vector<double> gate = product(x, "gate");
            for (size_t h = 0; h < hidden.size(); ++h) {
                const double g = limit > 0 ? std::min(gate[h], limit) : gate[h];
                const double u = limit > 0 ? std::clamp(hidden[h], -limit, limit) : hidden[h];
                hidden[h] = (u + offset) * activate(activation, alpha * g) / alpha;
            }
        } else {
            for (double &h : hidden) h = activate(activation, alpha * h) / alpha;
        }
        return product(hidden, "down");
    }

    // lavapipe ends an invocation's loops after 65,535 rounds in all; experts_order.comp takes two for each pair.
    static constexpr int64_t most_rounds = 65'000, most_chosen = 64, most_pairs = 1 << 14;

    // How many tokens a dispatch may bind: all, or the largest multiple of 64 that fits with all that belongs to them.
    static int64_t tokens_per_binding(const Call &call) {
        const Tensor up = call.weight("up_weight");
        const int64_t tokens = call.in("x").rows(), per_token = call.in("shares").cols();
        const int64_t fit = detail::rows_per_binding(call, tokens, std::max(up.dim(1), up.dim(2)) * per_token);
        return tokens * per_token <= most_pairs ? fit : std::min(fit, most_pairs / per_token / 64 * 64);
    }
    // Whether an invocation may multiply whole rows of a weight.
    static bool rows_are_short(const Tensor &weight) {
        return weight.in_blocks() || weight.cols() / (weight.cols() % 4 == 0 ? 4 : 1) <= most_rounds;
    }

    // The dispatches for some neighbouring tokens.
    class Block {
      public:
        Block(const Call &call, Plan &plan, int64_t first, int64_t tokens)
            : call_(call), plan_(plan), first_(first), tokens_(tokens), per_token_(call.in("shares").cols()),
              pairs_(tokens * per_token_), experts_(call.weight("up_weight").dim(0)),
              registers_(plan.variant == in_registers && rows_are_short(call.weight("up_weight")) &&
                         rows_are_short(call.weight("down_weight"))),
              sorted_((registers_ || plan.variant != in_registers) && pairs_ > static_cast<int64_t>(LAMINA_FEW_ROWS) &&
                      pairs_ * 4 > experts_) {
            if (plan.variant == by_subgroup && sorted_) throw Unsupported("it takes few tokens");
            // The tiles have as many rows as an expert has on average, but for a few sizes.
            const int64_t average = ceil_div(pairs_, experts_);
            if (!sorted_)
                tile_rows_ = 1;
            else if (plan.variant == in_tiles)
                tile_rows_ = average > 32 ? 64 : 32;
            else
                while (tile_rows_ < average && tile_rows_ < LAMINA_REGISTER_ROWS) tile_rows_ *= 2;
        }

        void run() {
            const lamina_ref x = part("x"), experts = part("experts");
            order_ = tiles_ = experts;
            if (sorted_) sort(experts);
            const int64_t width = call_.weight("up_weight").dim(1), cols = call_.weight("down_weight").dim(1);
            const lamina_ref hidden = plan_.scratch(pairs_ * width * 4), results = plan_.scratch(pairs_ * cols * 4);
            const bool gated = static_cast<bool>(call_.weight("gate_weight"));
            const auto alpha = static_cast<float>(call_.real("alpha")), limit = static_cast<float>(call_.real("limit")),
                       offset = static_cast<float>(call_.real("offset"));
            const Step gate{.x = x, .y = hidden, .activation = activation_of(call_), .limit = limit, .alpha = alpha};
            if (gated) {
                const lamina_ref gates = plan_.scratch(pairs_ * width * 4);
                Step step = gate;
                step.y = gates;
                dispatch("gate", step, per_token_);
                dispatch(
                    "up",
                    {.x = x, .y = hidden, .z = gates, .combine = LAMINA_MULTIPLY, .limit = limit, .offset = offset},
                    per_token_);
            } else {
                dispatch("up", gate, per_token_);
            }
            dispatch("down", {.x = hidden, .y = results}, 0);
            const struct { uint32_t size, cols, per_token; } push{u32(tokens_ * cols), u32(cols), u32(per_token_)};
            const bool added = static_cast<bool>(call_.in("residual"));
            plan_.dispatch(lamina_kernels::experts_sum, plan_.spread(ceil_div(push.size, 64)),
                           {results, part("shares"), added ? part("residual") : plan_.in("residual"),
                            whole() ? plan_.out("y") : detail::rows_of(plan_.out("y"), first_, tokens_, cols * 4)},
                           push, {{0, added}});
        }

      private:
        struct Step {
            lamina_ref x, y, z{};
            Activation activation = Activation::none;
            uint32_t combine = LAMINA_NONE;
            float limit = 0, alpha = 1, offset = 0;
        };
        const Call &call_;
        Plan &plan_;
        const int64_t first_, tokens_, per_token_, pairs_, experts_;
        const bool registers_, sorted_;
        int64_t tile_rows_ = 1;
        lamina_ref order_{}, tiles_{}; // or anything, if not sorted

        [[nodiscard]] bool whole() const { return tokens_ == call_.in("x").rows(); }
        [[nodiscard]] lamina_ref part(const char *input) const {
            return whole() ? plan_.in(input)
                           : detail::rows_of(plan_.in(input), first_, tokens_, call_.in(input).cols() * 4);
        }
        [[nodiscard]] int64_t tile_count() const { return sorted_ ? pairs_ / tile_rows_ + experts_ : pairs_; }

        void sort(lamina_ref experts) {
            order_ = plan_.scratch(pairs_ * 4), tiles_ = plan_.scratch(tile_count() * 16);
            const struct { uint32_t pairs, experts, tile_rows; } push{u32(pairs_), u32(experts_), u32(tile_rows_)};
            plan_.dispatch(lamina_kernels::experts_order, plan_.spread(ceil_div(experts_, 64)),
                           {experts, order_, tiles_}, push);
        }

        [[nodiscard]] uint32_t kernel(const Tensor &weight) const {
            using namespace lamina_kernels;
            const auto form = [&](uint32_t ordinary, uint32_t vec4, uint32_t blocks) {
                return weight.in_blocks() ? blocks : weight.cols() % 4 == 0 ? vec4 : ordinary;
            };
            if (registers_) return form(experts_registers, experts_registers_vec4, experts_registers_blocks);
            if (plan_.variant == by_subgroup)
                return form(experts_few_rows_subgroup, experts_few_rows_subgroup_vec4,
                            experts_few_rows_subgroup_blocks);
            return sorted_ ? form(experts_tiled, experts_tiled_vec4, experts_tiled_blocks)
                           : form(experts_few_rows, experts_few_rows_vec4, experts_few_rows_blocks);
        }
        [[nodiscard]] int64_t tile_cols() const {
            if (registers_) return LAMINA_REGISTER_COLS;
            return !sorted_ ? LAMINA_FEW_COLS : tile_rows_ == 64 ? 64 : 128;
        }

        // One product for every pair, with the matrices of NAME_weight. per_token: chosen.glsl.
        void dispatch(const std::string &name, const Step &step, int64_t per_token) {
            const Tensor weight = call_.weight(name + "_weight");
            const int64_t cols = weight.dim(1), inner = weight.cols();
            (void)u32(pairs_ * std::max(cols, inner)); // the kernels count elements in 32 bits
            const lamina_ref bias = plan_.weight(name + "_bias");
            for (const Window &w : plan_.windows(plan_.weight(name + "_weight"), experts_, cols * weight.row_bytes())) {
                (void)u32(w.count * cols * inner);
                const struct {
                    detail::ProductSizes sizes;
                    uint32_t first, count, per_token, tile_count;
                    float limit, alpha, offset;
                } push{{u32(pairs_), u32(inner), u32(cols), 0, u32(cols), u32(inner), step.combine},
                       u32(w.first),
                       u32(w.count),
                       u32(per_token),
                       u32(tile_count()),
                       step.limit,
                       step.alpha,
                       step.offset};
                plan_.dispatch(
                    kernel(weight), plan_.spread(tile_count() * ceil_div(cols, tile_cols())),
                    {step.x, w.ref, bias, step.combine == LAMINA_NONE ? step.x : step.z, step.y, order_, tiles_}, push,
                    {{LAMINA_OF_WEIGHT, dtype_of(weight)},
                     {LAMINA_OF_BIAS, dtype_of(call_.weight(name + "_bias"))},
                     {LAMINA_OF_ACTIVATION, static_cast<uint32_t>(step.activation)},
                     {LAMINA_OF_TILE_ROWS, u32(tile_rows_)},
                     {4, sorted_}});
            }
        }
    };
};

} // namespace

LAMINA_PLUGIN(Experts)
