// Host memory of programs, in 32-bit words: I32 tensors live in them, too.
#pragma once

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

} // namespace lamina::cpu
