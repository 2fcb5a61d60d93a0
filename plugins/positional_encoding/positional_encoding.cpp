// Adds positions to a sequence: sinusoids for any position below 2^31, or a learned table. README.md has the maths.
#include <lamina/plugin.hpp>

#include "positional_encoding.kernels.hpp"
#include "sinusoid.hpp"

#include <algorithm>
#include <functional>

namespace {
using namespace lamina::plugin;
using namespace positional_encoding;

struct PositionalEncoding {
    static constexpr auto id = "positional_encoding";
    static constexpr auto summary =
        "x + PE(position): sin and cos of position / 10000^(2i/C), or a learned table's rows";
    static constexpr auto source = "Vaswani et al.: Attention Is All You Need, arXiv:1706.03762, section 3.5";

    static constexpr std::array params{
        choice("layout", "sin, cos, sin, cos, …; or all sines before all cosines", "interleaved|halves"),
        integer("max_len", "positions must be below this; the rows of a learned table", 5000, 1, 2147483648.0),
        batch_first,
    };
    static constexpr std::array inputs{
        sequence(input("x", "B T C", "sequences; C is even")),
        optional(indices("offset", "B", "0 max_len-T+1", "position of each sequence's first row; 0 when left out")),
    };
    static constexpr std::array weights{
        in_blocks(optional(weight("table", "max_len C", "learned positions; sinusoids when left out"))),
    };
    static constexpr std::array outputs{
        by_rows(sequence(output("y", "B T C", "x with its positions added"))),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("phases in integers; one invocation per pair of channels"),
    };
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    static constexpr std::array cases{
        "B=2 T=3 C=160",
        "B=2 T=37 C=20 layout=halves +offset",
        "B=3 T=5 C=2 max_len=2147483648 +offset",
        "B=1 T=64 C=514 batch_first=0",
        "B=3 T=7 C=114 batch_first=0 +offset",
        "B=2 T=9 C=64 max_len=9 +table",
        "B=2 T=5 C=130 max_len=64 +table +offset weights=f16",
        "B=3 T=4 C=6 max_len=11 batch_first=0 +table +offset weights=bf16",
        "B=2 T=6 C=160 max_len=16 +table +offset weights=q8_0",
        "B=1 T=3 C=96 max_len=5 +table weights=q4_0",
        "B=1 T=3 C=256 max_len=5 +table weights=q5_k",
    };

    static void check(const Call &call) {
        const Sequence x(call.in("x"), call.flag("batch_first"));
        const int64_t max_len = call.integer("max_len");
        if (x.length > max_len)
            throw Invalid("x has " + std::to_string(x.length) + " positions; expected at most max_len = " +
                          std::to_string(max_len) + ": cut the sequence, or raise max_len");
        if (x.channels % 2 != 0 && !call.weight("table"))
            throw Invalid("x has " + std::to_string(x.channels) +
                          " channels; expected an even number, since sines and cosines come in pairs");
    }

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), offset = call.in("offset"), table = call.weight("table"), y = call.out("y");
        const Sequence sequence(x, call.flag("batch_first"));
        const std::vector<uint64_t> turns = turns_per_position(sequence.channels);
        for (const int64_t r : call.wanted(y)) {
            const auto b = static_cast<size_t>(sequence.batch_of(r));
            const int64_t position = (offset ? offset.i32()[b] : 0) + sequence.time_of(r);
            const auto in = x.row(r), out = y.row(r);
            if (table)
                std::ranges::transform(in, table.row(position), out.begin(), std::plus<>());
            else
                add_sinusoids(in, out, u32(position), turns, call.flag("layout"));
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x"), table = call.weight("table");
        const Sequence sequence(x, call.flag("batch_first"));
        (void)u32(x.size()); // the kernels count elements in 32 bits
        const Rows rows{u32(x.rows()),        u32(sequence.channels),     u32(sequence.batch),
                        u32(sequence.length), u32(sequence.batch_stride), u32(sequence.time_stride)};
        const lamina_spec has_offset{0, call.in("offset") ? 1u : 0u};
        if (!table) {
            const std::vector<uint64_t> turns = turns_per_position(sequence.channels);
            plan.dispatch(lamina_kernels::positional_encoding, plan.spread(ceil_div(x.size() / 2, 64)),
                          {plan.in("x"), plan.in("offset"), plan.constant(std::span(turns)), plan.out("y")}, rows,
                          {has_offset, {1, call.flag("layout") ? 1u : 0u}});
            return;
        }
        const auto kernel =
            table.in_blocks() ? lamina_kernels::learned_positions_blocks : lamina_kernels::learned_positions;
        for (const Window &window : plan.windows(plan.weight("table"), table.dim(0), table.row_bytes())) {
            const struct {
                Rows rows;
                uint32_t first, count;
            } push{rows, u32(window.first), u32(window.count)};
            plan.dispatch(kernel, plan.spread(x.rows()), {plan.in("x"), plan.in("offset"), window.ref, plan.out("y")},
                          push, {has_offset, {1, dtype_of(table)}});
        }
    }

  private:
    struct Rows { // the push constants that all kernels begin with
        uint32_t rows, cols, batch, length, batch_stride, time_stride;
    };

    // Rounds each value once, as the kernel does, so the bits are the same. The reference itself is tested against long
    // double sines.
    static void add_sinusoids(std::span<const float> in, std::span<float> out, uint32_t position,
                              const std::vector<uint64_t> &turns, bool halves) {
        for (size_t i = 0; i < turns.size(); ++i) {
            const SineCosine encoding = sine_cosine(phase(position, turns[i]));
            const size_t at = halves ? i : 2 * i, next = at + (halves ? turns.size() : 1);
            out[at] = in[at] + encoding.sine;
            out[next] = in[next] + encoding.cosine;
        }
    }
};

} // namespace

LAMINA_PLUGIN(PositionalEncoding)
