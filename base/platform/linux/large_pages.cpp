#include "base/large_pages.hpp"

#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace lamina {

void prefer_large_pages(std::span<std::byte> memory) {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    const uintptr_t first = (begin + page - 1) / page * page, last = (begin + memory.size()) / page * page;
    if (first < last) (void)::madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
}

} // namespace lamina
