#include "measure/openblas.hpp"

#include "base/dynamic_library.hpp"
#include "measure/repeat.hpp"

#include <algorithm>
#include <climits>
#include <vector>

namespace lamina::measure {
namespace {

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                       const float *b, int ldb, float beta, float *c, int ldc);

struct OpenBlas {
    Sgemm sgemm = nullptr;
    void (*end_threads)() = nullptr; // the next product starts others
};

// OpenBLAS is only a yardstick, so it is opened if it is there (on Debian, libopenblas0-pthread).
OpenBlas find_openblas() {
    for (const char *name : {"libopenblas.so.0", "libopenblas.dll"})
        if (void *library = open_library(name).handle)
            return {reinterpret_cast<Sgemm>(symbol_in(library, "cblas_sgemm")),
                    reinterpret_cast<void (*)()>(symbol_in(library, "blas_thread_shutdown_"))};
    return {};
}

std::vector<float> some_values(int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
    return out;
}

} // namespace

std::optional<Spread> openblas_product(int64_t m, int64_t n, int64_t k, double seconds) {
    constexpr int row_major = 101, as_is = 111, transposed = 112; // of cblas.h
    static const OpenBlas blas = find_openblas();
    if (blas.sgemm == nullptr || std::max({m, n, k}) > INT_MAX) return std::nullopt;
    const std::vector<float> x = some_values(m * k), weight = some_values(n * k);
    std::vector<float> y(static_cast<size_t>(m * n));
    const auto rows = static_cast<int>(m), columns = static_cast<int>(n), inner = static_cast<int>(k);
    const Spread out = repeat(seconds, [&] {
        return seconds_of([&] {
            blas.sgemm(row_major, as_is, transposed, rows, columns, inner, 1.0f, x.data(), inner, weight.data(), inner,
                       0.0f, y.data(), columns);
        });
    });
    // They would spin for a tenth of a second, on the processors on which something else is measured next.
    if (blas.end_threads != nullptr) blas.end_threads();
    return out;
}

} // namespace lamina::measure
