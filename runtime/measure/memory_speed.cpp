#include "measure/memory_speed.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "measure/repeat.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

namespace lamina::measure {

double copy_bytes_per_second(double seconds) {
    const size_t threads = cores();
    const size_t part = (256u << 20) / threads; // 256 MiB in all
    const std::vector<std::byte> from(part * threads, std::byte{1});
    std::vector<std::byte> to(from.size());
    const Spread time = repeat(seconds, [&] {
        return seconds_of([&] {
            in_parallel(threads, threads,
                        [&](size_t i, size_t) { std::memcpy(to.data() + i * part, from.data() + i * part, part); });
        });
    });
    return 2 * static_cast<double>(from.size()) / time.median;
}

} // namespace lamina::measure
