// A call of attention, read once for the reference and the plan.
#pragma once

#include <lamina/plugin.hpp>

#include <cmath>

namespace attention {

using namespace lamina::plugin;

// How many values an invocation writes into a cache of a dtype: those that share words.
inline int64_t appended_together(uint32_t dtype) { return dtype == LAMINA_Q8_0 ? 64 : dtype == LAMINA_F16 ? 2 : 1; }

// Whether a list of ports of a contract has one of this name.
inline bool has_port(const Call &call, const lamina_port *ports, uint32_t n, std::string_view name) {
    for (uint32_t i = 0; i < n; ++i)
        if (name == element(ports, i, call.layer().port_size).name) return true;
    return false;
}
inline bool has_input(const Call &call, std::string_view name) {
    return has_port(call, call.layer().inputs, call.layer().n_inputs, name);
}

// What all parts of the layer need from a call: also of a layer that has fewer inputs.
struct Setting {
    Sequence q, k;
    bool cached, keys_are_values;
    int64_t heads, kv_heads, head_dim, key_rows;
    bool causal;
    int64_t window; // 0: none
    bool two_sided; // it has an end after a query, too
    double scale, softcap;
    Tensor position, ahead, first_keys, query_lengths, key_lengths, mask, score_bias, distance_bias, slopes, sinks;
    bool shared_mask; // one row for all queries of a sequence

    explicit Setting(const Call &call)
        : q(call.in("q"), call.flag("batch_first")), k(call.in("k"), call.flag("batch_first")),
          cached(static_cast<bool>(call.state("key_cache"))), keys_are_values(call.in("v").stands_in()),
          heads(call.integer("heads")), kv_heads(call.integer("kv_heads")), head_dim(q.channels / heads),
          key_rows(cached ? call.state("key_cache").dim(1) : k.length), causal(call.flag("causal")),
          window(call.integer("window")), two_sided(window != 0 && call.flag("two_sided")),
          scale(call.real("scale") == 0 ? 1 / std::sqrt(static_cast<double>(head_dim)) : call.real("scale")),
          softcap(call.real("softcap")), position(call.in("position")), ahead(in(call, "ahead")),
          first_keys(in(call, "first_keys")), query_lengths(in(call, "query_lengths")),
          key_lengths(in(call, "key_lengths")), mask(in(call, in(call, "key_mask") ? "key_mask" : "keep_mask")),
          score_bias(in(call, "score_bias")), distance_bias(in(call, "distance_bias")), slopes(weight(call, "slopes")),
          sinks(weight(call, "sinks")), shared_mask(static_cast<bool>(in(call, "key_mask"))) {}

    [[nodiscard]] int64_t key_width() const { return kv_heads * head_dim; }
    // Without a cache, queries and keys move together. Only their distance matters, so the position has no effect.
    [[nodiscard]] bool positioned() const { return cached && position; }
    // R: the distance that all keys farther off count as.
    [[nodiscard]] int64_t reach() const { return distance_bias ? distance_bias.cols() / 2 : 0; }
    // Rows of keys and values: as given, or (B, M) in a cache.
    [[nodiscard]] int64_t key_batch_stride() const { return cached ? key_rows : k.batch_stride; }
    [[nodiscard]] int64_t key_time_stride() const { return cached ? 1 : k.time_stride; }
    [[nodiscard]] int64_t mask_batch_stride() const { return shared_mask ? k.length : q.length * k.length; }
    [[nodiscard]] int64_t mask_query_stride() const { return shared_mask ? 0 : k.length; }

  private:
    static constexpr lamina_tensor nothing{}; // as a port that is left out
    static Tensor in(const Call &call, std::string_view name) {
        return has_input(call, name) ? call.in(name) : Tensor(nothing);
    }
    static Tensor weight(const Call &call, std::string_view name) {
        const bool there = has_port(call, call.layer().weights, call.layer().n_weights, name);
        return there ? call.weight(name) : Tensor(nothing);
    }
};

} // namespace attention
