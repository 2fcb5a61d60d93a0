// A feed-forward layer, plain or gated: that of the layer of this name, or one of the layer `experts`.
#pragma once

#include "product.hpp"

namespace lamina::plugin::cpu_fallback {

struct FeedForward {
    uint32_t activation; // LAMINA_RELU, ...
    bool gated;
    WeightRows up, gate, down;
    Tensor up_bias, gate_bias, down_bias;
    float alpha = 1, limit = 0, offset = 0; // as the parameters of `experts`

    // y (rows, C) = the layer of x (rows, C), + residual (rows, C) if that is not null. Neither may overlap y.
    void run(const float *x, int64_t rows, float *y, const float *residual) const;

  private:
    [[nodiscard]] bool few(const float *x, int64_t rows, float *y, const float *residual) const;
    void many(const float *x, int64_t rows, float *y, const float *residual) const;
    void activate_part(float *hidden, float *gates, int64_t n) const;
};

} // namespace lamina::plugin::cpu_fallback
