// Host memory of programs, in 32-bit words: I32 tensors live in them, too.
#pragma once

#include "base/large_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace lamina::cpu {

// Zeros. They take memory where they are written, so a cache takes no more than its text, however long a text may
// become.
class Memory {
  public:
    explicit Memory(uint64_t bytes) : size_(static_cast<size_t>((bytes + 3) / 4)) {
        words_.reset(static_cast<float *>(std::calloc(std::max<size_t>(size_, 1), sizeof(float))));
        if (words_ == nullptr) throw std::bad_alloc();
    }
    [[nodiscard]] float *data() const { return words_.get(); }
    [[nodiscard]] size_t size() const { return size_; }
    [[nodiscard]] uint64_t bytes() const { return size_ * sizeof(float); }
    [[nodiscard]] float *begin() const { return words_.get(); }
    [[nodiscard]] float *end() const { return words_.get() + size_; }

  private:
    struct Free {
        void operator()(float *words) const { std::free(words); }
    };
    size_t size_;
    std::unique_ptr<float, Free> words_;
};

// Memory in large pages, at a multiple of 64 bytes. Nothing has been written to it.
class LargePages {
  public:
    // Null if the system has none.
    static LargePages of(size_t bytes) {
        LargePages out;
        constexpr size_t page = size_t{2} << 20;
        const size_t align = bytes < page ? 64 : page;
        out.at_.reset(static_cast<std::byte *>(std::aligned_alloc(align, (bytes + align - 1) / align * align)));
        if (out.at_ != nullptr) prefer_large_pages({out.at_.get(), bytes});
        return out;
    }
    [[nodiscard]] std::byte *data() const { return at_.get(); }

  private:
    struct Free {
        void operator()(std::byte *at) const { std::free(at); }
    };
    std::unique_ptr<std::byte, Free> at_;
};

} // namespace lamina::cpu
