// Bytes that end where readable memory ends.
#pragma once

#include "catch.hpp"

#include <cstddef>

#include <windows.h>

namespace lamina::test {

class AtTheEdge {
  public:
    explicit AtTheEdge(size_t bytes) : pages_((bytes + page - 1) / page * page), size_(bytes) {
        void *memory = VirtualAlloc(nullptr, pages_ + page, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        REQUIRE(memory != nullptr);
        first_ = static_cast<std::byte *>(memory);
        DWORD before = 0;
        REQUIRE(VirtualProtect(first_ + pages_, page, PAGE_NOACCESS, &before) != 0);
    }
    AtTheEdge(const AtTheEdge &) = delete;
    AtTheEdge &operator=(const AtTheEdge &) = delete;
    ~AtTheEdge() { VirtualFree(first_, 0, MEM_RELEASE); }
    [[nodiscard]] std::byte *data() const { return first_ + pages_ - size_; }

  private:
    static constexpr size_t page = 4096;
    size_t pages_, size_;
    std::byte *first_;
};

} // namespace lamina::test
