// Rotary position embedding: pairs of channels are rotated by an angle that grows with the position. README.md has the
// maths.
#include <lamina/plugin.hpp>

#include "rotary.kernels.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace {
using namespace lamina::plugin;

static_assert(LDBL_MANT_DIG >= 64, "angles of positions up to 2^31 need a long double of 64 bits");

// At position 2^31 a single bit of a frequency is worth whole turns, so no smaller dtype is allowed.
constexpr lamina_port frequencies() {
    lamina_port port =
        weight("frequencies", "P", "radians per position, for each pair; with coordinates, for each axis; or angles");
    port.dtypes = LAMINA_F32;
    return port;
}

struct Rotary {
    static constexpr auto id = "rotary";
    static constexpr auto summary = "pairs of channels of each head, rotated by position * frequency";
    static constexpr auto source = "Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding, "
                                   "arXiv:2104.09864, section 3.2";

    static constexpr std::array params{
        required(integer("heads", "heads side by side in a row; all are rotated alike", 1, 1)),
        choice("layout", "a pair is channels 2i and 2i+1, or i and i+P", "interleaved|halves"),
        real("magnitude", "factor of the rotated channels, as in YaRN", 1, 1e-3, 1e3),
        integer("max_len", "positions must be below this: texts that are longer need other frequencies", 2147483648.0,
                1, 2147483648.0),
        boolean("angles", "frequencies are the angles themselves, those of one row after the other", false),
        batch_first,
    };
    static constexpr std::array inputs{
        sequence(input("x", "B T heads*D", "queries or keys")),
        optional(indices("position", "B", "0 max_len-T+1", "position of a sequence's first row; 0 when left out")),
        optional(
            sequence(indices("coordinates", "B T A", "0 max_len", "position of each row on each of A axes, instead"))),
    };
    static constexpr std::array weights{
        frequencies(),
    };
    static constexpr std::array outputs{
        by_rows(sequence(output("y", "B T heads*D", "x, with the first 2 P channels of each head rotated"))),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("phases in integers; one invocation per pair of channels"),
    };
    static constexpr std::array tolerances{tolerance(2e-6, 0)};
    static constexpr std::array cases{
        "B=2 T=3 heads=5 D=32 P=16",
        "B=2 T=37 heads=1 D=20 P=10 layout=halves +position",
        "B=1 T=5 heads=3 D=2 P=1 +position position=max",
        "B=3 T=7 heads=2 D=96 P=12 layout=halves batch_first=0 +position",
        "B=1 T=9 heads=2 D=37 P=5 magnitude=1.25 +position position=max",
        "B=1 T=64 heads=2 D=128 P=64 +position frequencies=tiny",
        "B=2 T=3 heads=1 D=16 P=8 +position frequencies=large",
        "B=2 T=3 heads=2 D=8 P=4 max_len=5 +position position=max",
        "B=2 T=5 heads=3 D=16 A=3 P=24 layout=halves +position +coordinates",
        "B=3 T=7 heads=2 D=20 A=2 P=12 batch_first=0 magnitude=1.25 +coordinates coordinates=max",
        "B=1 T=67 heads=2 D=128 A=3 P=192 layout=halves +coordinates frequencies=large",
        "B=2 T=5 heads=3 D=16 P=40 angles=1 layout=halves",
        "B=3 T=7 heads=2 D=11 P=28 angles=1 batch_first=0 magnitude=1.25 frequencies=large",
    };

    static void check(const Call &call) {
        const Sequence x(call.in("x"), call.flag("batch_first"));
        const int64_t longest = call.integer("max_len");
        if (x.length > longest)
            throw Invalid("x has " + std::to_string(x.length) + " positions; expected at most max_len = " +
                          std::to_string(longest) + ", because a longer text needs other frequencies: cut it");
        const int64_t depth = call.in("x").cols() / call.integer("heads"), all = call.weight("frequencies").cols();
        const int64_t axes = axes_of(call), pairs = all / axes;
        if (call.flag("angles") && (call.in("position") || call.in("coordinates")))
            throw Invalid("angles are those of rows, wherever they are: expected neither position nor coordinates");
        if (call.flag("angles") && all % axes != 0)
            throw Invalid("there are " + std::to_string(all) + " angles; expected as many for each of the " +
                          std::to_string(axes) + " rows of a sequence");
        if (all % axes != 0)
            throw Invalid("there are " + std::to_string(all) + " frequencies; expected as many for each of the " +
                          std::to_string(axes) + " axes of coordinates");
        if (2 * pairs > depth)
            throw Invalid(std::to_string(pairs) + " frequencies turn " + std::to_string(2 * pairs) +
                          " channels of a head; x has " + std::to_string(depth) + " a head");
    }

    // Angles in long double are accurate to 2^-32 at position 2^31.
    static void reference(const Call &call) {
        const Tensor x = call.in("x"), position = call.in("position"), coordinates = call.in("coordinates"),
                     y = call.out("y");
        const std::span<const float> frequencies = call.weight("frequencies").f32();
        const Sequence sequence(x, call.flag("batch_first"));
        const auto axes = static_cast<size_t>(axes_of(call));
        const bool angles = call.flag("angles");
        const Pairs pairs(call, frequencies.size() / axes);
        for (const int64_t r : call.wanted(y)) {
            const auto in = x.row(r), out = y.row(r);
            std::ranges::copy(in, out.begin());
            const auto b = static_cast<size_t>(sequence.batch_of(r));
            const int64_t at = (position ? position.i32()[b] : 0) + sequence.time_of(r);
            for (size_t i = 0; i < pairs.count; ++i) {
                long double angle = 0;
                if (angles)
                    angle = frequencies[static_cast<size_t>(sequence.time_of(r)) * pairs.count + i];
                else
                    for (size_t a = 0; a < axes; ++a)
                        angle += static_cast<long double>(
                                     coordinates ? coordinates.i32()[static_cast<size_t>(r) * axes + a] : at) *
                                 frequencies[a * pairs.count + i];
                pairs.turn(in, out, i, angle);
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const Sequence sequence(x, call.flag("batch_first"));
        const int64_t heads = call.integer("heads"), depth = x.cols() / heads;
        const int64_t axes = axes_of(call), pairs = call.weight("frequencies").cols() / axes,
                      invocations = x.rows() * heads * (depth - pairs);
        const struct {
            uint32_t size, heads, depth, pairs, batch, length, batch_stride, time_stride, axes;
            float magnitude;
        } push{u32(x.size()),
               u32(heads),
               u32(depth),
               u32(pairs),
               u32(sequence.batch),
               u32(sequence.length),
               u32(sequence.batch_stride),
               u32(sequence.time_stride),
               u32(axes),
               static_cast<float>(call.real("magnitude"))};
        plan.dispatch(
            lamina_kernels::rotary, plan.spread(ceil_div(invocations, 64)),
            {plan.in("x"), plan.in("position"), plan.weight("frequencies"), plan.out("y"), plan.in("coordinates")},
            push,
            {{0, call.in("position") ? 1u : 0u},
             {1, call.flag("layout") ? 1u : 0u},
             {2, call.in("coordinates") ? 1u : 0u},
             {3, call.flag("angles") ? 1u : 0u}});
    }

  private:
    // Of which each has frequencies of its own: those of coordinates, or the rows of a sequence. A position alone is
    // one.
    static int64_t axes_of(const Call &call) {
        if (call.flag("angles")) return Sequence(call.in("x"), call.flag("batch_first")).length;
        return call.in("coordinates") ? call.in("coordinates").cols() : 1;
    }

    // Where the channels of a pair are, looked up by name once and not for each pair.
    struct Pairs {
        size_t count;                     // of them
        size_t depth, first_step, second; // of a head; from pair to pair; from a pair's first channel to its second
        double magnitude;

        Pairs(const Call &call, size_t pairs)
            : count(pairs), depth(static_cast<size_t>(call.in("x").cols() / call.integer("heads"))),
              first_step(call.flag("layout") ? 1 : 2), second(call.flag("layout") ? pairs : 1),
              magnitude(call.real("magnitude")) {}

        // Rotates pair i of every head by an angle.
        void turn(std::span<const float> in, std::span<float> out, size_t i, long double angle) const {
            const auto sine = static_cast<double>(std::sin(angle)), cosine = static_cast<double>(std::cos(angle));
            for (size_t head = 0; head < in.size(); head += depth) {
                const size_t a = head + i * first_step, b = a + second;
                out[a] = static_cast<float>(magnitude * (in[a] * cosine - in[b] * sine));
                out[b] = static_cast<float>(magnitude * (in[a] * sine + in[b] * cosine));
            }
        }
    };
};

} // namespace

LAMINA_PLUGIN(Rotary)
