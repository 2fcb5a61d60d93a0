// Memory for intermediate results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// Uninitialized values. They begin at a cache line, so that no vector lies in two. Memory is kept by the thread that
// gave it back, for the next matrix: new memory comes from the system page by page, which takes longer than many a
// layer.
class Matrix {
  public:
    Matrix(int64_t rows, int64_t cols);
    Matrix(const Matrix &) = delete;
    Matrix &operator=(const Matrix &) = delete;
    ~Matrix();
    [[nodiscard]] float *data() const { return values_; }

  private:
    float *values_;
    size_t bytes_;
};

} // namespace lamina::plugin::cpu_fallback
