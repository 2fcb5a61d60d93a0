#include "measure/memory_speed.hpp"

#include "measure/repeat.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

namespace lamina::measure {

double copy_bytes_per_second(double seconds) {
    const size_t threads = std::max(1u, std::thread::hardware_concurrency());
    const size_t part = (256u << 20) / threads; // 256 MiB in all
    const std::vector<std::byte> from(part * threads, std::byte{1});
    std::vector<std::byte> to(from.size());
    const Spread time = repeat(seconds, [&] {
        return seconds_of([&] {
            std::vector<std::jthread> workers;
            for (size_t i = 0; i < threads; ++i)
                workers.emplace_back([&, i] { std::memcpy(to.data() + i * part, from.data() + i * part, part); });
        });
    });
    return 2 * static_cast<double>(from.size()) / time.median;
}

} // namespace lamina::measure
