// Rotary positions.
#include "kernels.hpp"
#include "threads.hpp"
#include "waves.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace lamina::plugin::cpu_fallback {
namespace {

// The fraction of a turn, in 2^-64, that a frequency in radians adds at each position.
uint64_t turn_of(float frequency) {
    const long double turns = frequency / (2 * std::numbers::pi_v<long double>);
    return static_cast<uint64_t>(std::min((turns - std::floor(turns)) * 0x1p64L, 0x1p64L - 1));
}

} // namespace

void rotary(const Call &call) {
    const Tensor x = call.in("x"), position = call.in("position"), coordinates = call.in("coordinates"),
                 y = call.out("y");
    const Sequence sequence(x, call.flag("batch_first"));
    const auto magnitude = static_cast<float>(call.real("magnitude"));
    const std::span<const float> frequencies = call.weight("frequencies").f32();
    const Array<uint64_t> turns(std::ssize(frequencies));
    std::ranges::transform(frequencies, turns.data(), turn_of);
    const bool angles = call.flag("angles");
    const size_t axes = angles        ? static_cast<size_t>(sequence.length)
                        : coordinates ? static_cast<size_t>(coordinates.cols())
                                      : 1,
                 pairs = frequencies.size() / axes;
    const auto depth = static_cast<size_t>(x.cols() / call.integer("heads"));
    const size_t step = call.flag("layout") ? 1 : 2, second = call.flag("layout") ? pairs : 1; // between channels

    in_ranges(x.rows(), part_values / (8 * x.cols()) + 1, [&](int64_t first, int64_t end) {
        Waves waves(turns.all(), magnitude, axes);
        const float *const cosines = waves.cosines(), *const sines = waves.sines();
        for (int64_t r = first; r < end; ++r) {
            const auto b = static_cast<size_t>(sequence.batch_of(r));
            if (angles)
                waves.turn_once(static_cast<size_t>(sequence.time_of(r)));
            else if (coordinates)
                waves.move_to(coordinates.i32().subspan(static_cast<size_t>(r) * axes, axes));
            else
                waves.move_to((position ? position.i32()[b] : 0) + sequence.time_of(r));
            const auto in = x.row(r), out = y.row(r);
            std::ranges::copy(in, out.begin());
            for (size_t head = 0; head < in.size(); head += depth)
                for (size_t i = 0; i < pairs; ++i) {
                    const size_t a = head + i * step, c = a + second;
                    out[a] = in[a] * cosines[i] - in[c] * sines[i];
                    out[c] = in[a] * sines[i] + in[c] * cosines[i];
                }
        }
    });
}

} // namespace lamina::plugin::cpu_fallback
