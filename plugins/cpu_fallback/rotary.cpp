// Rotary positions. Phases are counted in turns, as fractions of 64 bits: exact at any position, and quicker than sines
// of large angles.
#include "kernels.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

// The fraction of a turn, in 2^-64, that a frequency in radians adds at each position.
uint64_t turn_of(float frequency) {
    const long double turns = frequency / (2 * std::numbers::pi_v<long double>);
    return static_cast<uint64_t>(std::min((turns - std::floor(turns)) * 0x1p64L, 0x1p64L - 1));
}

struct Rotation { // of a pair of channels
    float cosine, sine;
};

} // namespace

void rotary(const Call &call) {
    const Tensor x = call.in("x"), position = call.in("position"), y = call.out("y");
    const Sequence sequence(x, call.flag("batch_first"));
    const auto magnitude = static_cast<float>(call.real("magnitude"));
    std::vector<uint64_t> turns;
    for (const float f : call.weight("frequencies").f32()) turns.push_back(turn_of(f));
    const size_t depth = static_cast<size_t>(x.cols() / call.integer("heads")), pairs = turns.size();
    const size_t step = call.flag("layout") ? 1 : 2, second = call.flag("layout") ? pairs : 1; // between channels

    in_ranges(x.rows(), part_values / (8 * x.cols()) + 1, [&](int64_t first, int64_t end) {
        std::vector<Rotation> rotations(pairs);
        for (int64_t r = first; r < end; ++r) {
            const auto b = static_cast<size_t>(sequence.batch_of(r));
            const int64_t at = (position ? position.i32()[b] : 0) + sequence.time_of(r);
            for (size_t i = 0; i < pairs; ++i) {
                const auto phase = static_cast<int64_t>(static_cast<uint64_t>(at) * turns[i]);
                const double angle = static_cast<double>(phase) * (2 * std::numbers::pi * 0x1p-64);
                rotations[i] = {magnitude * static_cast<float>(std::cos(angle)),
                                magnitude * static_cast<float>(std::sin(angle))};
            }
            const auto in = x.row(r), out = y.row(r);
            std::ranges::copy(in, out.begin());
            for (size_t head = 0; head < in.size(); head += depth)
                for (size_t i = 0; i < pairs; ++i) {
                    const size_t a = head + i * step, c = a + second;
                    out[a] = in[a] * rotations[i].cosine - in[c] * rotations[i].sine;
                    out[c] = in[a] * rotations[i].sine + in[c] * rotations[i].cosine;
                }
        }
    });
}

} // namespace lamina::plugin::cpu_fallback
