// Attention: the projections as one product each, then for each sequence and head two products with the softmax
// between.
#include "kernels.hpp"
#include "product.hpp"

#include <cblas.h>

#include <cmath>

namespace lamina::plugin::cpu_fallback {
namespace {

class Attention {
  public:
    explicit Attention(const Call &call)
        : call_(call), q_(call.in("query"), call.flag("batch_first")), s_(call.in("source"), call.flag("batch_first")),
          self_(call.in("source").stands_in()), cached_(static_cast<bool>(call.state("key_cache"))),
          causal_(call.flag("causal")), heads_(call.integer("heads")), kv_heads_(call.integer("kv_heads")),
          head_dim_(call.weight("query_weight").rows() / heads_),
          key_rows_(cached_ ? call.state("key_cache").dim(1) : s_.length) {}

    void run() const {
        const int64_t rows = q_.batch * q_.length, width = heads_ * head_dim_;
        const Matrix q(rows, width), o(rows, width);
        product(rows, call_.in("query").f32().data(), call_.weight("query_weight"), call_.weight("query_bias"),
                q.data());
        if (cached_) {
            const Tensor k = call_.state("key_cache"), v = call_.state("value_cache");
            if (!cache_is_full()) {
                project_into_cache(call_.weight("key_weight"), call_.weight("key_bias"), k);
                project_into_cache(call_.weight("value_weight"), call_.weight("value_bias"), v);
            }
            attend(q.data(), k.f32().data(), v.f32().data(), o.data());
        } else {
            const Matrix k = project_source("key_weight", "key_bias"), v = project_source("value_weight", "value_bias");
            attend(q.data(), k.data(), v.data(), o.data());
        }
        const Tensor added = call_.in("residual");
        product(rows, o.data(), call_.weight("out_weight"), call_.weight("out_bias"), call_.out("y").f32().data(),
                added ? added.f32().data() : nullptr);
    }

  private:
    const Call &call_;
    const Sequence q_, s_;
    const bool self_, cached_, causal_;
    const int64_t heads_, kv_heads_, head_dim_, key_rows_;

    // Of a sequence's first query. Without a cache, queries and keys of self attention shift together.
    [[nodiscard]] int64_t first_position(int64_t b) const {
        const Tensor given = call_.in("position");
        return given && (cached_ || !self_) ? given.i32()[static_cast<size_t>(b)] : 0;
    }

    // ---- Keys and values ----

    // A source that is not the query is projected at position 0 and then stays in the cache.
    [[nodiscard]] bool fills_cache(int64_t b) const { return self_ || first_position(b) == 0; }
    [[nodiscard]] bool cache_is_full() const {
        for (int64_t b = 0; b < s_.batch; ++b)
            if (fills_cache(b)) return false;
        return true;
    }

    [[nodiscard]] Matrix project_source(const char *weight, const char *bias) const {
        return project_source(call_.weight(weight), call_.weight(bias));
    }
    [[nodiscard]] Matrix project_source(const Tensor &weight, const Tensor &bias) const {
        Matrix out(s_.batch * s_.length, weight.rows());
        product(s_.batch * s_.length, call_.in("source").f32().data(), weight, bias, out.data());
        return out;
    }

    void project_into_cache(const Tensor &weight, const Tensor &bias, const Tensor &cache) const {
        const Matrix rows = project_source(weight, bias);
        for (int64_t b = 0; b < s_.batch; ++b) {
            if (!fills_cache(b)) continue;
            const int64_t first = self_ ? first_position(b) : 0;
            for (int64_t j = 0; j < s_.length && first + j < key_rows_; ++j)
                std::copy_n(rows.data() + s_.row(b, j) * cache.cols(), cache.cols(),
                            cache.row(b * key_rows_ + first + j).data());
        }
    }

    // ---- Heads ----

    // Keys from here on are masked for every query of the sequence.
    [[nodiscard]] int64_t key_count(int64_t b) const {
        int64_t n = self_ && cached_ ? std::min(first_position(b) + q_.length, key_rows_) : s_.length;
        if (causal_) n = std::min(n, first_position(b) + q_.length);
        if (const Tensor lengths = call_.in("key_lengths"))
            n = std::min<int64_t>(n, lengths.i32()[static_cast<size_t>(b)]);
        return n;
    }

    void attend(const float *q, const float *k, const float *v, float *o) const {
        const Matrix scores(q_.length, key_rows_);
        const int64_t kv_width = kv_heads_ * head_dim_, width = heads_ * head_dim_;
        const int64_t batch_stride = cached_ ? key_rows_ : s_.batch_stride, time_stride = cached_ ? 1 : s_.time_stride;
        const int d = blas_int(head_dim_), t = blas_int(q_.length), q_step = blas_int(q_.time_stride * width),
                  kv_step = blas_int(time_stride * kv_width);
        const float scale = 1 / std::sqrt(static_cast<float>(head_dim_));
        for (int64_t b = 0; b < q_.batch; ++b) {
            const int n = blas_int(key_count(b));
            for (int64_t h = 0; h < heads_; ++h) {
                const int64_t q_at = b * q_.batch_stride * width + h * head_dim_;
                const int64_t kv_at = b * batch_stride * kv_width + h / (heads_ / kv_heads_) * head_dim_;
                if (n == 0) { // nothing to attend to
                    for (int64_t i = 0; i < q_.length; ++i) std::fill_n(o + q_at + i * q_step, d, 0.0f);
                    continue;
                }
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, t, n, d, scale, q + q_at, q_step, k + kv_at,
                            kv_step, 0.0f, scores.data(), n);
                for (int64_t i = 0; i < q_.length; ++i)
                    softmax(b, h, i, {scores.data() + i * n, static_cast<size_t>(n)});
                if (masks_within(b)) expect_finite(v + kv_at, n, kv_step);
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, t, d, n, 1.0f, scores.data(), n, v + kv_at,
                            kv_step, 0.0f, o + q_at, q_step);
            }
        }
    }

    // Turns the scores of query i into the shares of its keys; a query that may attend to none has no shares.
    void softmax(int64_t b, int64_t h, int64_t i, std::span<float> row) const {
        const Tensor bias = call_.in("score_bias"), mask = call_.in(call_.in("key_mask") ? "key_mask" : "keep_mask");
        const auto seen = causal_ ? std::min(row.size(), static_cast<size_t>(first_position(b) + i + 1)) : row.size();
        const auto bias_at = static_cast<size_t>(((b * heads_ + h) * q_.length + i) * s_.length);
        const auto mask_at = static_cast<size_t>((call_.in("key_mask") ? b : b * q_.length + i) * s_.length);
        const auto kept = [&](size_t j) { return !mask || mask.i32()[mask_at + j] != 0; };

        float greatest = -1.7e38f; // finite: a score of -infinity is as good as masked
        for (size_t j = 0; j < seen; ++j) {
            if (bias) row[j] += bias.f32()[bias_at + j];
            if (kept(j)) greatest = std::max(greatest, row[j]);
        }
        double total = 0;
        for (size_t j = 0; j < seen; ++j) total += row[j] = kept(j) ? std::exp(row[j] - greatest) : 0.0f;
        const auto share = static_cast<float>(total == 0 ? 0 : 1 / total);
        for (size_t j = 0; j < seen; ++j) row[j] *= share;
        std::fill(row.begin() + static_cast<std::ptrdiff_t>(seen), row.end(), 0.0f);
    }

    // A masked key has the share 0, and the product below takes 0 times its values: wrong when these are not finite.
    [[nodiscard]] bool masks_within(int64_t b) const {
        return call_.in("key_mask") || call_.in("keep_mask") || (causal_ && first_position(b) + 1 < key_count(b));
    }
    void expect_finite(const float *values, int64_t rows, int64_t step) const {
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < head_dim_; ++c)
                if (!std::isfinite(values[r * step + c]))
                    throw Unsupported("a value is not finite: masking by a product is not exact");
    }
};

} // namespace

void attention(const Call &call) { Attention(call).run(); }

} // namespace lamina::plugin::cpu_fallback
