// Positions of a sequence: sinusoids, or the rows of a learned table.
#include "kernels.hpp"
#include "threads.hpp"
#include "waves.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace lamina::plugin::cpu_fallback {
namespace {

// For every pair of channels, the fraction of a turn that it adds at each position, in units of 2^-64. A double is
// accurate to 2^-55, so the phase at position 2^31 to 2^-24 turn.
void find_turns(int64_t channels, std::span<uint64_t> turns) {
    for (size_t i = 0; i < turns.size(); ++i) {
        const double wavelength =
            2 * std::numbers::pi * std::pow(10000.0, static_cast<double>(2 * i) / static_cast<double>(channels));
        turns[i] = static_cast<uint64_t>(0x1p64 / wavelength);
    }
}

} // namespace

void positional_encoding(const Call &call) {
    const Tensor x = call.in("x"), offset = call.in("offset"), table = call.weight("table"), y = call.out("y");
    const Sequence sequence(x, call.flag("batch_first"));
    const Array<uint64_t> kept(table ? 0 : ceil_div(x.cols(), 2));
    const std::span<uint64_t> turns = kept.all();
    find_turns(x.cols(), turns);
    const size_t step = call.flag("layout") ? 1 : 2, second = call.flag("layout") ? turns.size() : 1; // as in rotary()

    in_ranges(x.rows(), part_values / x.cols() + 1, [&](int64_t first, int64_t end) {
        Waves waves(turns);
        for (int64_t r = first; r < end; ++r) {
            const auto b = static_cast<size_t>(sequence.batch_of(r));
            const int64_t position = (offset ? offset.i32()[b] : 0) + sequence.time_of(r);
            const auto in = x.row(r), out = y.row(r);
            if (table) {
                const StorageType &type = storage_type(table.dtype());
                type.widen(table.stored_row(position), table.cols() / type.block_values, out.data());
                std::ranges::transform(in, out, out.begin(), std::plus<>());
                continue;
            }
            waves.move_to(position);
            for (size_t i = 0; i < turns.size(); ++i) {
                const size_t at = i * step, next = at + second;
                out[at] = in[at] + waves.sines()[i];
                out[next] = in[next] + waves.cosines()[i];
            }
        }
    });
}

} // namespace lamina::plugin::cpu_fallback
