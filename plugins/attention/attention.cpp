// Attention of queries to keys and values, with or without a cache of those. README.md has the maths.
#include <lamina/plugin.hpp>
#include <lamina/plugin/matrix.hpp>

#include "attention.kernels.hpp"
#include "reference.hpp"
#include "setting.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;
using namespace attention;

enum : uint32_t { tiled = 1, wide = 2, split = 3, matrix = 4 }; // variants besides the baseline

// The dispatches: first append to the caches, then compute the heads.
class Planner {
  public:
    Planner(const Call &call, Plan &plan) : call_(call), plan_(plan), s_(call) {}

    void run() {
        check_bindings();
        const lamina_ref k = s_.cached ? append("k", "key_cache") : plan_.in("k");
        const lamina_ref v = s_.cached ? append("v", "value_cache") : plan_.in("v");
        attend(k, v);
    }

  private:
    const Call &call_;
    Plan &plan_;
    const Setting s_;

    // Writes new keys or values into their cache, and returns the cache.
    lamina_ref append(const char *input, const char *state) {
        const struct {
            uint32_t batch, rows, cols, cache_rows, batch_stride, time_stride;
        } push{u32(s_.k.batch),  u32(s_.k.length),       u32(s_.key_width()),
               u32(s_.key_rows), u32(s_.k.batch_stride), u32(s_.k.time_stride)};
        const lamina_ref cache = plan_.state(state);
        const bool halves = call_.state(state).dtype() == LAMINA_F16;
        const int64_t words = call_.in(input).size() / (halves ? 2 : 1);
        plan_.dispatch(lamina_kernels::append, plan_.spread(ceil_div(words, 64)),
                       {plan_.in(input), plan_.in("position"), cache}, push, {{0, s_.positioned()}, {1, halves}});
        return cache;
    }

    void attend(lamina_ref k, lamina_ref v) {
        const struct {
            uint32_t batch, queries, keys, key_rows, heads, kv_heads;
            uint32_t query_batch_stride, query_time_stride, key_batch_stride, key_time_stride;
            uint32_t mask_batch_stride, mask_query_stride, window, reach;
            float scale, softcap;
            uint32_t head_dim, options;
        } push{u32(s_.q.batch),
               u32(s_.q.length),
               u32(s_.k.length),
               u32(s_.key_rows),
               u32(s_.heads),
               u32(s_.kv_heads),
               u32(s_.q.batch_stride),
               u32(s_.q.time_stride),
               u32(s_.key_batch_stride()),
               u32(s_.key_time_stride()),
               u32(s_.mask_batch_stride()),
               u32(s_.mask_query_stride()),
               u32(std::min<int64_t>(s_.window, INT32_MAX)),
               u32(s_.reach()),
               static_cast<float>(s_.scale),
               static_cast<float>(s_.softcap),
               u32(s_.head_dim),
               options()};
        lamina_ref o = plan_.out("y");
        const lamina_ref q = plan_.in("q"), position = plan_.in("position"), lengths = plan_.in("key_lengths"),
                         mask = plan_.in(s_.shared_mask ? "key_mask" : "keep_mask"),
                         bias = s_.slopes ? plan_.weight("slopes")
                                          : plan_.in(s_.distance_bias ? "distance_bias" : "score_bias");
        const auto dispatch = [&](uint32_t kernel, int64_t groups, auto... tile) {
            plan_.dispatch(kernel, plan_.spread(groups), {q, k, v, position, lengths, mask, bias, o}, push,
                           {{0, key_dtype()},
                            {1, value_dtype()},
                            {2, static_cast<bool>(s_.mask)},
                            {3, has_bias()},
                            {4, static_cast<bool>(s_.distance_bias)},
                            {5, s_.softcap != 0},
                            tile...});
        };
        const int64_t key_heads = s_.q.batch * s_.kv_heads;         // each dispatch covers them all
        const int64_t lines = s_.heads / s_.kv_heads * s_.q.length; // query rows that share a key head
        const int64_t rows = s_.q.batch * s_.q.length * s_.heads, head_slices = ceil_div(s_.head_dim, 128);
        if (plan_.variant == split) {
            const int64_t parts = parts_of();
            o = plan_.scratch(rows * parts * (s_.head_dim + 2) * 4);
            dispatch(lamina_kernels::attention_row, rows * parts, lamina_spec{6, u32(head_slices)},
                     lamina_spec{7, part_keys});
            merge(o, parts);
        } else if (plan_.variant == matrix) {
            if (lines < 8 || s_.head_dim > 256)
                throw Unsupported("8 or more query rows a key head, of up to 256 channels");
            if (call_.device().shared_bytes < 20 * 1024 || 128 % call_.device().subgroup != 0)
                throw Unsupported("20 KiB of shared memory, and subgroups that divide 128");
            const lamina_matrix_shape shape = matrix_shape(call_.device(), 32, 32, 32);
            plan_.dispatch(lamina_kernels::attention_matrix, plan_.spread(key_heads * ceil_div(lines, 32)),
                           {q, k, v, position, lengths, mask, bias, o, scales(k, v)}, push,
                           {{0, key_dtype()},
                            {1, value_dtype()},
                            {2, u32(ceil_div(s_.head_dim, 32))},
                            {3, shape.m},
                            {4, shape.n},
                            {5, shape.k}});
        } else if (plan_.variant != tiled) {
            const bool vec4 = s_.head_dim % 4 == 0;
            const int64_t most_lines = plan_.variant == wide ? 4 : 2, most_steps = plan_.variant == wide ? 16 : 8;
            const int64_t steps = vec4 ? s_.head_dim / 4 : s_.head_dim, slices = ceil_div(steps, most_steps);
            // Eight lines fill the SIMD lanes of a software driver if each has its own. That they run the same kernel
            // as one line, a decode step, saves compiling another.
            const int64_t own_lines = lines > 8 ? most_lines : 1, own_steps = ceil_div(steps, slices);
            check_registers(own_lines * (own_steps * (vec4 ? 4 : 1) + 8));
            dispatch(vec4 ? lamina_kernels::attention_vec4 : lamina_kernels::attention,
                     key_heads * slices * ceil_div(lines, 32 * own_lines), lamina_spec{6, u32(own_steps)},
                     lamina_spec{7, u32(own_lines)});
        } else if (s_.head_dim > 1024) {
            throw Unsupported("head dims up to 1024, found " + std::to_string(s_.head_dim));
        } else if (few_queries() || s_.head_dim > 256) {
            dispatch(lamina_kernels::attention_row, rows, lamina_spec{6, u32(head_slices)});
        } else {
            dispatch(lamina_kernels::attention_tiled, key_heads * ceil_div(lines, 32),
                     lamina_spec{6, u32(ceil_div(s_.head_dim, 32))});
        }
    }

    [[nodiscard]] bool has_bias() const { return s_.score_bias || s_.distance_bias || s_.slopes; }

    // In the order of keys.glsl.
    [[nodiscard]] uint32_t options() const {
        const std::array all{static_cast<bool>(s_.mask),
                             has_bias(),
                             static_cast<bool>(s_.distance_bias),
                             s_.softcap != 0,
                             s_.causal,
                             s_.cached,
                             s_.positioned(),
                             static_cast<bool>(s_.key_lengths),
                             s_.two_sided,
                             static_cast<bool>(s_.slopes)};
        uint32_t bits = 0;
        for (uint32_t i = 0; i < all.size(); ++i) bits |= static_cast<uint32_t>(all[i]) << i;
        return bits;
    }

    // The scales of the rows of Q, K and V, head by head, one after the other.
    lamina_ref scales(lamina_ref k, lamina_ref v) {
        const int64_t q_rows = s_.q.batch * s_.q.length * s_.heads, k_rows = s_.q.batch * s_.key_rows * s_.kv_heads;
        const lamina_ref scales = plan_.scratch((q_rows + 2 * k_rows) * 4);
        const auto dispatch = [&](lamina_ref matrix, uint32_t dtype, int64_t rows, int64_t first) {
            const struct { uint32_t rows, inner, first_row; } push{u32(rows), u32(s_.head_dim), u32(first)};
            plan_.dispatch(lamina_kernels::attention_scales, plan_.spread(rows), {matrix, scales}, push, {{0, dtype}});
        };
        dispatch(plan_.in("q"), LAMINA_F32, q_rows, 0);
        dispatch(k, key_dtype(), k_rows, q_rows);
        dispatch(v, value_dtype(), k_rows, q_rows + k_rows);
        return scales;
    }
    [[nodiscard]] uint32_t key_dtype() const { return dtype_of(s_.cached ? call_.state("key_cache") : call_.in("k")); }
    [[nodiscard]] uint32_t value_dtype() const {
        return dtype_of(s_.cached ? call_.state("value_cache") : call_.in("v"));
    }

    static constexpr uint32_t part_keys = 256; // two rounds of a workgroup

    // A workgroup per query and head, though heads that share their keys read them each for itself: in a decode step
    // there are too few queries to keep a GPU busy otherwise.
    [[nodiscard]] bool few_queries() const { return s_.q.length < 8; }
    [[nodiscard]] int64_t parts_of() const {
        const int64_t parts = ceil_div(s_.key_rows, part_keys);
        if (!few_queries() || s_.head_dim > 1024 || parts < 2)
            throw Unsupported("fewer than 8 queries, of up to 1024 channels, over more than " +
                              std::to_string(part_keys) + " keys");
        return parts;
    }
    void merge(lamina_ref partial, int64_t parts) {
        const struct {
            uint32_t batch, queries, heads, depth, parts, batch_stride, time_stride;
        } push{u32(s_.q.batch), u32(s_.q.length),       u32(s_.heads),        u32(s_.head_dim),
               u32(parts),      u32(s_.q.batch_stride), u32(s_.q.time_stride)};
        plan_.dispatch(lamina_kernels::merge, plan_.spread(ceil_div(call_.out("y").size(), 64)),
                       {partial, plan_.out("y")}, push);
    }

    // Sums and scores of an invocation. Only GPUs have long subgroups, and there whatever exceeds the registers goes to
    // slow memory. Software drivers have short subgroups and fast memory. The baseline's 80 values fit the registers of
    // every GPU in docs/portability.md; with four lines, each with its own place and end, fewer values fit.
    void check_registers(int64_t values) const {
        const int64_t most = plan_.variant == wide ? 72 : 80;
        if (values > most && call_.device().subgroup > 8)
            throw Unsupported("at most " + std::to_string(most) + " sums and scores an invocation on a GPU, found " +
                              std::to_string(values));
    }

    // The kernels of the heads bind all of these.
    void check_bindings() const {
        const int64_t row_bytes = s_.head_dim * 4, pairs = s_.q.batch * s_.q.length * s_.k.length;
        const int64_t most = std::max({s_.q.batch * s_.q.length * s_.heads * row_bytes,
                                       s_.q.batch * s_.key_rows * s_.kv_heads * row_bytes, s_.mask ? pairs * 4 : 0,
                                       s_.score_bias ? pairs * s_.heads * 4 : 0});
        const auto limit = static_cast<int64_t>(call_.device().max_binding_bytes);
        if (most > limit)
            throw Unsupported("a tensor of " + std::to_string(most) + " bytes exceeds the device's binding limit of " +
                              std::to_string(limit) + ": use smaller batches or shorter sequences");
    }
};

constexpr lamina_port cache(const char *name, const char *summary) {
    return goes_with(or_f16(state(name, "B M kv_heads*D", "M", summary)), "position");
}

constexpr lamina_port slopes() {
    lamina_port port = optional(weight("slopes", "heads", "times the distance of a key, subtracted from its score"));
    port.dtypes = LAMINA_F32;
    return port;
}

struct Attention {
    static constexpr auto id = "attention";
    static constexpr auto summary = "softmax(scale * q kᵀ + bias) v of every head, with or without a cache of k and v";
    static constexpr auto source = "Vaswani et al.: Attention Is All You Need, arXiv:1706.03762, section 3.2; online "
                                   "softmax: Milakov, Gimelshein, arXiv:1805.02867; shared key heads: Ainslie et al., "
                                   "arXiv:2305.13245";

    static constexpr std::array params{
        required(integer("heads", "query heads", 1, 1)),
        follows(integer("kv_heads", "key and value heads, each shared by heads / kv_heads query heads", 1, 1), "heads"),
        real("scale", "factor of the products of queries and keys; 0: 1 / sqrt(D)", 0, 0, 1000),
        boolean("causal", "a query attends to no key after its own position", false),
        integer("window", "a query attends only to keys less than this far before its own position; 0: to all", 0, 0),
        boolean("two_sided", "the window also ends less than that far after the query's own position", false),
        real("softcap", "scores become softcap * tanh(score / softcap), before the bias; 0: off", 0, 0, 1000),
        batch_first,
    };
    static constexpr std::array inputs{
        sequence(input("q", "B Tq heads*D", "queries; the heads side by side, D channels each")),
        sequence(input("k", "B Tk kv_heads*D", "keys")),
        follows(sequence(input("v", "B Tk kv_heads*D", "values; the keys when left out")), "k"),
        optional(indices("key_lengths", "B", "0 Tk+1", "how many of a sequence's keys may be attended to")),
        optional(indices("key_mask", "B Tk", "0 2", "1: the key may be attended to; 0: it is padding")),
        optional(indices("keep_mask", "B Tq Tk", "0 2", "1: the query may attend to the key")),
        optional(input("score_bias", "B heads Tq Tk", "added to the scores")),
        optional(input("distance_bias", "heads 2*R+1",
                       "added to the scores of keys d positions after the query: column R + d; d is limited to +-R")),
        optional(indices("position", "B", "0 2147483647",
                         "row of a sequence's first query and key in the caches; 0 when left out")),
    };
    static constexpr std::array weights{
        slopes(),
    };
    static constexpr std::array outputs{
        by_rows(sequence(
            output("y", "B Tq heads*D", "for each query, the weighted sum of the values, the heads side by side"))),
    };
    static constexpr std::array states{
        cache("key_cache", "keys of all steps; always (B, M), in either layout"),
        cache("value_cache", "values of all steps, likewise"),
    };

    // The caches replace the keys of the call, which they then contain.
    static constexpr auto work = "4*Tk key_cache:4*M-4*Tk";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("in registers, no shared memory; two query rows per invocation"),
        variant("tiled", "with shared memory; for few queries, a workgroup per query and head", 0),
        variant("wide", "as baseline, with four query rows per invocation; for software drivers", 0),
        variant("split", "for few queries and many keys: a workgroup per part of the keys, then merged", 0),
        variant("matrix", "for 8 query rows or more: cooperative matrices, each value as two halves", matrix_products),
    };
    static constexpr std::array tolerances{tolerance(2e-5, 2e-6)};
    static constexpr std::array cases{
        "B=1 Tq=1 Tk=1 D=1 heads=1 +v",
        "B=2 Tq=37 Tk=37 D=8 heads=8 causal=1 +v",
        "B=2 Tq=5 Tk=7 D=8 heads=4 scale=0.5 +v +key_lengths",
        "B=2 Tq=9 Tk=33 D=16 heads=2 +v +key_lengths key_lengths=zeros",
        "B=1 Tq=9 Tk=9 D=37 heads=2 kv_heads=1 batch_first=0 softcap=3 +v +keep_mask +score_bias",
        "B=2 Tq=35 Tk=67 D=16 heads=2 +v +key_mask",
        "B=3 Tq=9 Tk=9 D=12 heads=2 causal=1 batch_first=0 +v +key_mask +key_lengths",
        "B=3 Tq=33 Tk=65 D=20 heads=2 batch_first=0 +v +keep_mask",
        "B=2 Tq=17 Tk=17 D=16 heads=6 kv_heads=2 causal=1 +v +score_bias +key_lengths score_bias=large",
        "B=1 Tq=131 Tk=131 D=64 heads=2 causal=1 window=40 +v",
        "B=1 Tq=261 Tk=261 D=32 heads=2 causal=1 batch_first=0 +v",
        "B=2 Tq=67 Tk=67 D=24 heads=4 kv_heads=2 window=9 softcap=20 scale=1 +v",
        "B=2 Tq=9 Tk=1025 D=8 heads=4 kv_heads=2 +v +keep_mask",
        "B=2 Tq=3 Tk=1027 D=40 heads=2 batch_first=0 +v +keep_mask +score_bias score_bias=large",
        "B=1 Tq=131 Tk=131 D=66 heads=1 scale=4 +v q=one_hot k=one_hot v=one_hot",
        "B=2 Tq=35 Tk=35 D=20 heads=2 causal=1 window=2 +v v=infinite",
        "B=2 Tq=135 Tk=135 D=64 heads=2 window=33 two_sided=1 +v +key_lengths",
        "B=3 Tq=13 Tk=13 D=12 heads=4 kv_heads=2 window=1 two_sided=1 batch_first=0 +v +key_mask",
        "B=1 Tq=9 Tk=4096 D=32 heads=1 scale=7.5 q=one_hot k=one_hot", // thousands of small, equal shares
        "B=1 Tq=1 Tk=4096 D=32 heads=1 scale=7.5 q=one_hot k=one_hot",
        "B=1 Tq=6 Tk=6 D=96 heads=2 +v +key_lengths key_lengths=one",
        "B=1 Tq=11 Tk=19 D=256 heads=1",
        "B=3 Tq=1 Tk=1 M=140 D=16 heads=4 kv_heads=2 causal=1 +v +position +key_cache +value_cache",
        "B=16 Tq=1 Tk=1 M=260 D=16 heads=2 causal=1 +v +position +key_cache +value_cache",
        "B=2 Tq=1 Tk=1 M=1100 D=64 heads=3 causal=1 window=700 +v +position +key_cache +value_cache",
        "B=8 Tq=5 Tk=5 M=260 D=12 heads=2 causal=1 window=33 +v +position +key_cache +value_cache",
        "B=2 Tq=9 Tk=9 M=14 D=32 heads=2 causal=1 batch_first=0 +v +position +key_cache +value_cache",
        "B=2 Tq=3 Tk=3 M=9 D=12 heads=2 +v +position +key_cache +value_cache",
        "B=1 Tq=1 Tk=1 M=520 D=40 heads=8 kv_heads=1 causal=1 +v +position +key_cache +value_cache",
        "B=2 Tq=1 Tk=1 M=600 D=64 heads=4 kv_heads=2 causal=1 +v +position +key_cache +value_cache key_cache=f16 "
        "value_cache=f16",
        "B=3 Tq=5 Tk=5 M=40 D=37 heads=4 kv_heads=2 causal=1 batch_first=0 +v +position +key_cache +value_cache "
        "key_cache=f16 value_cache=f16",
        "B=2 Tq=33 Tk=33 M=70 D=20 heads=3 +position +key_cache +value_cache value_cache=f16",
        "B=2 Tq=2 Tk=2 M=40 D=160 heads=8 kv_heads=2 causal=1 softcap=50 +v +position +key_cache +value_cache "
        "position=zeros",
        "B=2 Tq=37 Tk=37 D=16 heads=3 R=9 scale=1 +v +key_mask +distance_bias",
        "B=1 Tq=5 Tk=67 D=20 heads=2 kv_heads=1 R=40 batch_first=0 softcap=9 +v +distance_bias distance_bias=large",
        "B=1 Tq=131 Tk=131 D=64 heads=2 R=128 causal=1 +v +distance_bias",
        "B=3 Tq=1 Tk=1 M=600 D=16 heads=4 kv_heads=2 R=32 causal=1 +v +distance_bias +position +key_cache "
        "+value_cache",
        "B=4 Tq=9 Tk=9 M=40 D=12 heads=2 R=7 causal=1 +v +distance_bias +position +key_cache +value_cache",
        "B=2 Tq=131 Tk=131 D=64 heads=3 +v +key_lengths +slopes",
        "B=3 Tq=1 Tk=1 M=600 D=16 heads=4 kv_heads=2 causal=1 +v +position +key_cache +value_cache +slopes",
        "B=2 Tq=9 Tk=9 M=40 D=12 heads=2 causal=1 window=5 +v +position +key_cache +value_cache +slopes",
    };

    static void check(const Call &call) {
        const Setting s(call);
        const auto text = [](int64_t n) { return std::to_string(n); };
        if (s.heads % s.kv_heads != 0)
            throw Invalid("heads must be a multiple of kv_heads: found " + text(s.heads) + " and " + text(s.kv_heads));
        if (static_cast<bool>(call.state("key_cache")) != static_cast<bool>(call.state("value_cache")))
            throw Invalid("key_cache and value_cache belong together: give both, or leave both out");
        if (call.in("key_mask") && call.in("keep_mask"))
            throw Invalid("key_mask and keep_mask are both given: give a keep_mask that is 0 where either of them is");
        if (s.score_bias && s.distance_bias)
            throw Invalid("score_bias and distance_bias are both given: give a score_bias that is the sum of the two");
        if (s.slopes && (s.score_bias || s.distance_bias))
            throw Invalid("slopes are given beside another bias: give a single one, which is the sum of the two");
        if (!s.cached) return;
        if (s.key_lengths || s.mask || s.score_bias)
            throw Invalid("key_lengths, masks and score_bias say nothing of the keys of earlier steps: leave them "
                          "out where attention has a position, and with it a cache; distance_bias may stay");
        if (s.q.length != s.k.length)
            throw Invalid("over a cache, queries are as many as new keys: found " + text(s.q.length) + " and " +
                          text(s.k.length));
        for (const char *name : {"key_cache", "value_cache"})
            if (call.state(name).dtype() == LAMINA_F16 && s.key_width() % 2 != 0)
                throw Invalid(std::string(name) + " is f16 and its rows have " + text(s.key_width()) +
                              " values; two halves share a word, so expected an even number: use an f32 cache");
        if (s.k.length > s.key_rows)
            throw Invalid("there are " + text(s.k.length) + " keys and the cache has only " + text(s.key_rows) +
                          " rows");
    }

    static void reference(const Call &call) { Reference(call).run(); }
    static void plan(const Call &call, Plan &plan) { Planner(call, plan).run(); }
};

} // namespace

LAMINA_PLUGIN(Attention)
