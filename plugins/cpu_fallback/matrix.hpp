// Memory for intermediate results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lamina::plugin::cpu_fallback {

// Memory that is kept by the thread that gave it back, for the next layer: new memory comes from the system page by
// page, which takes longer than many a layer.
class KeptMemory {
  public:
    explicit KeptMemory(size_t bytes);
    KeptMemory(const KeptMemory &) = delete;
    KeptMemory &operator=(const KeptMemory &) = delete;
    ~KeptMemory();
    [[nodiscard]] void *at() const { return at_; }

  private:
    void *at_ = nullptr; // of none
    size_t bytes_ = 0;
};

// Uninitialized values. They begin at a cache line, so that no vector lies in two.
template <class T> class Array {
  public:
    explicit Array(int64_t size) : memory_(sizeof(T) * static_cast<size_t>(size)), size_(size) {}
    [[nodiscard]] T *data() const { return static_cast<T *>(memory_.at()); }
    [[nodiscard]] std::span<T> all() const { return {data(), static_cast<size_t>(size_)}; }

  private:
    KeptMemory memory_;
    int64_t size_;
};

class Matrix : public Array<float> {
  public:
    Matrix(int64_t rows, int64_t cols) : Array(rows * cols) {}
};

} // namespace lamina::plugin::cpu_fallback
