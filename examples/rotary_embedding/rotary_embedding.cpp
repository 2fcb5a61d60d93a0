// Rotary position embedding: pairs of channels turned by an angle that grows with the position. README.md has the
// maths.
#include <lamina/plugin.hpp>

#include "rotary_embedding.kernels.hpp"

#include <cfloat>
#include <cmath>
#include <numbers>

namespace {
using namespace lamina::plugin;

static_assert(LDBL_MANT_DIG >= 64, "angles of positions up to 2^31 need a long double of 64 bits");

struct RotaryEmbedding {
    static constexpr auto id = "rotary_embedding";
    static constexpr auto summary = "pairs of channels of each head, turned by position / base^(2i/D)";
    static constexpr auto source = "Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding, "
                                   "arXiv:2104.09864, section 3.2";

    static constexpr std::array params{
        required(integer("heads", "heads side by side in a row; each is turned alike", 1, 1)),
        real("base", "of the wavelengths", 10000, 1, 1e9),
        choice("layout", "a pair is channels 2i and 2i+1, or i and i+D/2", "interleaved|halves"),
    };
    static constexpr std::array inputs{
        input("x", "B T heads*D", "queries or keys; D is even"),
        optional(indices("position", "B T", "0 2147483648", "of each row; 0, 1, 2, ... when left out")),
    };
    static constexpr std::array outputs{
        output("y", "B T heads*D", "x, turned"),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("phases in integers; one invocation a pair of channels"),
    };
    static constexpr std::array tolerances{tolerance(2e-6, 0)};
    static constexpr std::array cases{
        "B=2 T=3 heads=5 D=32",
        "B=2 T=37 heads=1 D=20 layout=halves +position",
        "B=1 T=5 heads=3 D=2 base=1 +position",
        "B=1 T=64 heads=2 D=128 base=500000 +position position=max",
    };

    static void check(const Call &call) {
        const int64_t depth = call.in("x").cols() / call.integer("heads");
        if (depth % 2 != 0)
            throw Invalid("heads have " + std::to_string(depth) +
                          " channels; expected an even number, since they are turned in pairs");
    }

    // Angles in long double: at position 2^31 they are right to 2^-32.
    static void reference(const Call &call) {
        const Tensor x = call.in("x"), position = call.in("position"), y = call.out("y");
        const auto heads = static_cast<size_t>(call.integer("heads"));
        const size_t depth = static_cast<size_t>(x.cols()) / heads, pairs = depth / 2;
        const bool halves = call.flag("layout");
        for (int64_t row = 0; row < x.rows(); ++row) {
            const auto in = x.row(row), out = y.row(row);
            const int64_t at = position ? position.i32()[static_cast<size_t>(row)] : row % x.dim(1);
            for (size_t i = 0; i < pairs; ++i) {
                const long double angle = static_cast<long double>(at) * frequency(call.real("base"), i, depth);
                const auto sine = static_cast<double>(std::sin(angle)), cosine = static_cast<double>(std::cos(angle));
                for (size_t head = 0; head < heads; ++head) {
                    const size_t a = head * depth + (halves ? i : 2 * i), b = a + (halves ? pairs : 1);
                    out[a] = static_cast<float>(in[a] * cosine - in[b] * sine);
                    out[b] = static_cast<float>(in[a] * sine + in[b] * cosine);
                }
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const int64_t depth = x.cols() / call.integer("heads");
        const std::vector<uint64_t> turns = turns_per_position(call.real("base"), static_cast<size_t>(depth));
        const struct {
            uint32_t size, cols, depth, length;
        } push{u32(x.size()), u32(x.cols()), u32(depth), u32(x.dim(1))};
        plan.dispatch(lamina_kernels::rotary_embedding, plan.spread(ceil_div(x.size() / 2, 64)),
                      {plan.in("x"), plan.in("position"), plan.constant(std::span(turns)), plan.out("y")}, push,
                      {{0, call.in("position") ? 1u : 0u}, {1, call.flag("layout") ? 1u : 0u}});
    }

  private:
    // Radians a position, of pair i.
    static long double frequency(double base, size_t i, size_t depth) {
        const long double exponent = static_cast<long double>(2 * i) / static_cast<long double>(depth);
        return 1 / std::pow(static_cast<long double>(base), exponent);
    }

    // The same in units of 2^-64 turn, in which whole turns drop out of unsigned products: what the kernel counts in.
    static std::vector<uint64_t> turns_per_position(double base, size_t depth) {
        std::vector<uint64_t> turns(depth / 2);
        for (size_t i = 0; i < turns.size(); ++i) {
            const long double turn = frequency(base, i, depth) / (2 * std::numbers::pi_v<long double>);
            turns[i] = static_cast<uint64_t>(std::round(std::ldexp(turn, 64)));
        }
        return turns;
    }
};

} // namespace

LAMINA_PLUGIN(RotaryEmbedding)
