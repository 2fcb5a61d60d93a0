// Bytes that end where readable memory ends.
#pragma once

#include "catch.hpp"

#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

namespace lamina::test {

class AtTheEdge {
  public:
    explicit AtTheEdge(size_t bytes) : pages_((bytes + page - 1) / page * page), size_(bytes) {
        void *memory = mmap(nullptr, pages_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(memory != MAP_FAILED);
        first_ = static_cast<std::byte *>(memory);
        REQUIRE(mprotect(first_ + pages_, page, PROT_NONE) == 0);
    }
    AtTheEdge(const AtTheEdge &) = delete;
    AtTheEdge &operator=(const AtTheEdge &) = delete;
    ~AtTheEdge() { munmap(first_, pages_ + page); }
    [[nodiscard]] std::byte *data() const { return first_ + pages_ - size_; }

  private:
    static inline const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t pages_, size_;
    std::byte *first_;
};

} // namespace lamina::test
