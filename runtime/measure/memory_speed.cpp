#include "measure/memory_speed.hpp"

#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "measure/repeat.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace lamina::measure {

double read_bytes_per_second(double seconds) {
    const size_t threads = cores(), part = (size_t{256} << 20) / threads;
    const std::vector<char> memory(part * threads, 'a');
    std::atomic<bool> found = false;
    // Libraries search for a byte as fast as memory can be read. This one is not there.
    const Spread time = repeat(seconds, [&] {
        return seconds_of([&] {
            in_parallel(threads, threads, [&](size_t i, size_t) {
                if (std::memchr(memory.data() + i * part, 'b', part) != nullptr) found = true;
            });
        });
    });
    if (found) throw std::logic_error("a byte that is not there was found");
    return static_cast<double>(memory.size()) / time.median;
}

} // namespace lamina::measure
