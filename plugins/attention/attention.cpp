// Multi-head attention with its projections, self or cross, with or without a key-value cache. README.md has the maths.
#include <lamina/plugin/product.hpp>

#include "attention.kernels.hpp"

#include <cmath>

namespace {
using namespace lamina::plugin;

enum : uint32_t { tiled = 1, wide = 2 }; // variants beside the baseline

// What all parts of the layer ask of a call.
struct Setting {
    Sequence query, source;
    bool self, cached, growing; // growing: self attention over a cache, the new keys behind those of earlier steps
    int64_t heads, kv_heads, head_dim, key_rows;
    bool causal;
    Tensor position, key_lengths, mask, score_bias;
    bool shared_mask; // one row for all queries of a sequence

    explicit Setting(const Call &call)
        : query(call.in("query"), call.flag("batch_first")), source(call.in("source"), call.flag("batch_first")),
          self(call.in("source").stands_in()), cached(static_cast<bool>(call.state("key_cache"))),
          growing(self && cached), heads(call.integer("heads")), kv_heads(call.integer("kv_heads")),
          head_dim(call.weight("query_weight").rows() / heads),
          key_rows(cached ? call.state("key_cache").dim(1) : source.length), causal(call.flag("causal")),
          position(call.in("position")), key_lengths(call.in("key_lengths")),
          mask(call.in(call.in("key_mask") ? "key_mask" : "keep_mask")), score_bias(call.in("score_bias")),
          shared_mask(static_cast<bool>(call.in("key_mask"))) {}

    // Without a cache, queries and keys of self attention shift together: only their distance matters, and that is not
    // changed by a position.
    [[nodiscard]] bool positioned() const { return position && (cached || !self); }
    // Rows of keys and values: as in the source, or (B, M) in a cache.
    [[nodiscard]] int64_t key_batch_stride() const { return cached ? key_rows : source.batch_stride; }
    [[nodiscard]] int64_t key_time_stride() const { return cached ? 1 : source.time_stride; }
    [[nodiscard]] int64_t mask_batch_stride() const {
        return shared_mask ? source.length : query.length * source.length;
    }
    [[nodiscard]] int64_t mask_query_stride() const { return shared_mask ? 0 : source.length; }
};

// The layer in plain loops, in double.
class Reference {
  public:
    explicit Reference(const Call &call) : call_(call), s_(call) {}

    void run() {
        project_keys("key_weight", "key_bias", "key_cache", keys_);
        project_keys("value_weight", "value_bias", "value_cache", values_);
        const Tensor query = call_.in("query"), residual = call_.in("residual"), y = call_.out("y");
        for (int64_t b = 0; b < s_.query.batch; ++b)
            for (int64_t t = 0; t < s_.query.length; ++t) {
                const int64_t row = s_.query.row(b, t);
                const std::vector<double> q =
                    product_reference(query.row(row), call_.weight("query_weight"), call_.weight("query_bias"));
                std::vector<double> heads;
                for (int64_t h = 0; h < s_.heads; ++h) attend(b, t, h, q, heads);
                const std::vector<double> out =
                    product_reference(heads, call_.weight("out_weight"), call_.weight("out_bias"));
                for (size_t c = 0; c < out.size(); ++c)
                    y.row(row)[c] = static_cast<float>(out[c] + (residual ? residual.row(row)[c] : 0.0));
            }
    }

  private:
    const Call &call_;
    const Setting s_;
    std::vector<std::vector<double>> keys_, values_; // by b * key_rows + j: (kv_heads D)

    [[nodiscard]] int64_t position(int64_t b) const {
        return s_.positioned() ? s_.position.i32()[static_cast<size_t>(b)] : 0;
    }

    // Projects the source; with a cache, writes what is new into it and reads all of it back.
    void project_keys(const char *weight, const char *bias, const char *cache, std::vector<std::vector<double>> &rows) {
        const Tensor source = call_.in("source"), state = call_.state(cache);
        for (int64_t b = 0; b < s_.source.batch; ++b)
            for (int64_t j = 0; j < s_.source.length; ++j) {
                auto row = product_reference(source.row(s_.source.row(b, j)), call_.weight(weight), call_.weight(bias));
                const int64_t at = s_.growing ? position(b) + j : j;
                if (!s_.cached)
                    rows.push_back(std::move(row));
                else if (at < s_.key_rows && (s_.self || position(b) == 0))
                    std::transform(row.begin(), row.end(), state.row(b * s_.key_rows + at).begin(),
                                   [](double v) { return static_cast<float>(v); });
            }
        if (!s_.cached) return;
        for (int64_t row = 0; row < state.rows(); ++row)
            rows.emplace_back(state.row(row).begin(), state.row(row).end());
    }

    [[nodiscard]] bool may_attend(int64_t b, int64_t t, int64_t j) const {
        if (j >= (s_.growing ? position(b) + s_.query.length : s_.source.length)) return false;
        if (s_.causal && j > position(b) + t) return false;
        if (s_.key_lengths && j >= s_.key_lengths.i32()[static_cast<size_t>(b)]) return false;
        const int64_t in_mask = b * s_.mask_batch_stride() + t * s_.mask_query_stride() + j;
        return !s_.mask || s_.mask.i32()[static_cast<size_t>(in_mask)] != 0;
    }

    // Appends the D values of one head.
    void attend(int64_t b, int64_t t, int64_t h, const std::vector<double> &q, std::vector<double> &out) const {
        const auto d = static_cast<size_t>(s_.head_dim), q_at = static_cast<size_t>(h) * d;
        const auto kv_at = static_cast<size_t>(h / (s_.heads / s_.kv_heads)) * d;
        const auto first_row = static_cast<size_t>(b * s_.key_rows);
        std::vector<std::pair<size_t, double>> scores; // of the keys that it may attend to
        double greatest = -1.7e38;                     // finite: a score of -infinity is as good as masked
        for (int64_t j = 0; j < s_.key_rows; ++j) {
            if (!may_attend(b, t, j)) continue;
            const size_t key = first_row + static_cast<size_t>(j);
            double score = 0;
            for (size_t i = 0; i < d; ++i) score += q[q_at + i] * keys_[key][kv_at + i];
            score /= std::sqrt(static_cast<double>(d));
            if (s_.score_bias)
                score +=
                    s_.score_bias
                        .f32()[static_cast<size_t>(((b * s_.heads + h) * s_.query.length + t) * s_.source.length + j)];
            scores.emplace_back(key, score);
            greatest = std::max(greatest, score);
        }
        double total = 0;
        for (auto &[key, score] : scores) total += score = std::exp(score - greatest);
        for (size_t i = 0; i < d; ++i) {
            double sum = 0;
            for (const auto &[key, share] : scores) sum += share * values_[key][kv_at + i];
            out.push_back(total == 0 ? 0 : sum / total);
        }
    }
};

// The dispatches: projections, then the heads, then the output's projection.
class Planner {
  public:
    Planner(const Call &call, Plan &plan) : call_(call), plan_(plan), s_(call) {}

    void run() {
        check_bindings();
        const int64_t rows = s_.query.batch * s_.query.length, row_bytes = s_.heads * s_.head_dim * 4;
        const lamina_ref q = plan_.scratch(rows * row_bytes), o = plan_.scratch(rows * row_bytes);
        project({.rows = rows, .x = plan_.in("query"), .weight = "query_weight", .bias = "query_bias", .y = q});
        const auto [k, v] = s_.cached ? keys_into_cache() : keys_into_scratch();
        attend(q, k, v, o);
        project({.rows = rows,
                 .x = o,
                 .weight = "out_weight",
                 .bias = "out_bias",
                 .y = plan_.out("y"),
                 .combine = call_.in("residual") ? Combine::add : Combine::none,
                 .z = plan_.in("residual")});
    }

  private:
    const Call &call_;
    Plan &plan_;
    const Setting s_;

    void project(Product product) {
        product.tiled = plan_.variant == tiled;
        constexpr ProductKernels kernels{lamina_kernels::project, lamina_kernels::project_vec4,
                                         lamina_kernels::project_tiled, lamina_kernels::project_few_rows};
        plan_product(call_, plan_, kernels, product);
    }

    [[nodiscard]] int64_t source_rows() const { return s_.source.batch * s_.source.length; }

    void project_keys(lamina_ref k, lamina_ref v, std::optional<lamina_ref> targets) {
        const lamina_ref x = plan_.in("source");
        project(
            {.rows = source_rows(), .x = x, .weight = "key_weight", .bias = "key_bias", .y = k, .targets = targets});
        project({.rows = source_rows(),
                 .x = x,
                 .weight = "value_weight",
                 .bias = "value_bias",
                 .y = v,
                 .targets = targets});
    }

    std::pair<lamina_ref, lamina_ref> keys_into_scratch() {
        const int64_t bytes = source_rows() * s_.kv_heads * s_.head_dim * 4;
        const lamina_ref k = plan_.scratch(bytes), v = plan_.scratch(bytes);
        project_keys(k, v, {});
        return {k, v};
    }

    std::pair<lamina_ref, lamina_ref> keys_into_cache() {
        const lamina_ref targets = plan_.scratch(source_rows() * 4);
        const struct {
            uint32_t batch, keys, cache_rows, batch_stride, time_stride;
        } push{u32(s_.source.batch), u32(s_.source.length), u32(s_.key_rows), u32(s_.source.batch_stride),
               u32(s_.source.time_stride)};
        plan_.dispatch(lamina_kernels::cache_rows, plan_.spread(ceil_div(source_rows(), 64)),
                       {plan_.in("position"), targets}, push, {{0, s_.growing}, {1, s_.positioned()}});
        const lamina_ref k = plan_.state("key_cache"), v = plan_.state("value_cache");
        project_keys(k, v, targets);
        return {k, v};
    }

    void attend(lamina_ref q, lamina_ref k, lamina_ref v, lamina_ref o) {
        const struct {
            uint32_t batch, queries, keys, key_rows, heads, kv_heads;
            uint32_t query_batch_stride, query_time_stride, key_batch_stride, key_time_stride;
            uint32_t mask_batch_stride, mask_query_stride;
            float scale;
        } push{u32(s_.query.batch),
               u32(s_.query.length),
               u32(s_.source.length),
               u32(s_.key_rows),
               u32(s_.heads),
               u32(s_.kv_heads),
               u32(s_.query.batch_stride),
               u32(s_.query.time_stride),
               u32(s_.key_batch_stride()),
               u32(s_.key_time_stride()),
               u32(s_.mask_batch_stride()),
               u32(s_.mask_query_stride()),
               static_cast<float>(1 / std::sqrt(static_cast<double>(s_.head_dim)))};
        const auto dispatch = [&](uint32_t kernel, int64_t groups, auto... tile) {
            plan_.dispatch(kernel, plan_.spread(groups),
                           {q, k, v, plan_.in("position"), plan_.in("key_lengths"),
                            plan_.in(s_.shared_mask ? "key_mask" : "keep_mask"), plan_.in("score_bias"), o},
                           push,
                           {{0, u32(s_.head_dim)},
                            {1, s_.causal},
                            {2, s_.growing},
                            {3, s_.positioned()},
                            {4, static_cast<bool>(s_.key_lengths)},
                            {5, static_cast<bool>(s_.mask)},
                            {6, static_cast<bool>(s_.score_bias)},
                            tile...});
        };
        const int64_t key_heads = s_.query.batch * s_.kv_heads;         // each dispatch covers them all
        const int64_t lines = s_.heads / s_.kv_heads * s_.query.length; // query rows that share a key head
        if (plan_.variant != tiled) {
            const bool vec4 = s_.head_dim % 4 == 0;
            const int64_t most_lines = plan_.variant == wide ? 4 : 2, most_steps = plan_.variant == wide ? 16 : 8;
            const int64_t steps = vec4 ? s_.head_dim / 4 : s_.head_dim, slices = ceil_div(steps, most_steps);
            const int64_t own_lines = std::min(lines, most_lines), own_steps = ceil_div(steps, slices);
            check_registers(own_lines * (own_steps * (vec4 ? 4 : 1) + 8));
            dispatch(vec4 ? lamina_kernels::attention_vec4 : lamina_kernels::attention,
                     key_heads * slices * ceil_div(lines, 32 * own_lines), lamina_spec{7, u32(own_steps)},
                     lamina_spec{8, u32(own_lines)});
        } else if (s_.head_dim > 1024) {
            throw Unsupported("head dims up to 1024, found " + std::to_string(s_.head_dim));
        } else if (lines < 8 || s_.head_dim > 256) {
            dispatch(lamina_kernels::attention_row, s_.query.batch * s_.query.length * s_.heads,
                     lamina_spec{7, u32(ceil_div(s_.head_dim, 128))});
        } else {
            dispatch(lamina_kernels::attention_tiled, key_heads * ceil_div(lines, 32),
                     lamina_spec{7, u32(ceil_div(s_.head_dim, 32))});
        }
    }

    // Sums and scores of an invocation. Long subgroups are a GPU's, and there what exceeds the registers lies in memory
    // far away; software drivers, whose subgroups are short, have only memory, and that in reach. The baseline's 80 fit
    // every GPU for which a compiler could be asked (docs/portability.md).
    void check_registers(int64_t values) const {
        constexpr int64_t most = 80;
        if (values > most && call_.device().subgroup > 8)
            throw Unsupported("at most " + std::to_string(most) + " sums and scores an invocation on a GPU, found " +
                              std::to_string(values));
    }

    // The heads' kernels bind these whole.
    void check_bindings() const {
        const int64_t row_bytes = s_.head_dim * 4, keys = s_.source.length;
        const int64_t pairs = s_.query.batch * s_.query.length * keys;
        const int64_t most = std::max({s_.query.batch * s_.query.length * s_.heads * row_bytes,
                                       s_.query.batch * s_.key_rows * s_.kv_heads * row_bytes, s_.mask ? pairs * 4 : 0,
                                       s_.score_bias ? pairs * s_.heads * 4 : 0});
        const auto limit = static_cast<int64_t>(call_.device().max_binding_bytes);
        if (most > limit)
            throw Unsupported("a tensor of " + std::to_string(most) + " bytes exceeds the device's binding limit of " +
                              std::to_string(limit) + ": use smaller batches or shorter sequences");
    }
};

struct Attention {
    static constexpr auto id = "attention";
    static constexpr auto summary = "multi-head attention with its projections: self or cross, with or without a cache";
    static constexpr auto source = "Vaswani et al.: Attention Is All You Need, arXiv:1706.03762, section 3.2; online "
                                   "softmax: Milakov, Gimelshein, arXiv:1805.02867; shared key heads: Ainslie et al., "
                                   "arXiv:2305.13245";

    static constexpr std::array params{
        required(integer("heads", "query heads", 1, 1)),
        follows(integer("kv_heads", "key and value heads, each shared by heads / kv_heads query heads", 1, 1), "heads"),
        boolean("causal", "a query attends to no key behind its own position", false),
        batch_first,
    };
    static constexpr std::array inputs{
        sequence(input("query", "B Tq C", "tokens that attend")),
        follows(sequence(input("source", "B Tk S", "tokens attended to; the query when left out: self attention")),
                "query"),
        optional(sequence(input("residual", "B Tq C", "added to the result"))),
        optional(indices("key_lengths", "B", "0 Tk+1", "how many of a sequence's keys may be attended to")),
        optional(indices("key_mask", "B Tk", "0 2", "1: the key may be attended to; 0: it is padding")),
        optional(indices("keep_mask", "B Tq Tk", "0 2", "1: the query may attend to the key")),
        optional(input("score_bias", "B heads Tq Tk", "added to the scaled scores")),
        optional(indices("position", "B", "0 2147483647", "where a sequence's first query stands; 0 when left out")),
    };
    static constexpr std::array weights{
        weight("query_weight", "heads*D C", "D is the head dim"),
        optional(weight("query_bias", "heads*D", "added to the queries")),
        weight("key_weight", "kv_heads*D S", "rows of a head are adjacent"),
        optional(weight("key_bias", "kv_heads*D", "added to the keys")),
        weight("value_weight", "kv_heads*D S", "rows of a head are adjacent"),
        optional(weight("value_bias", "kv_heads*D", "added to the values")),
        weight("out_weight", "C heads*D", "from the heads, side by side, to tokens"),
        optional(weight("out_bias", "C", "added to the result")),
    };
    static constexpr std::array outputs{
        sequence(output("y", "B Tq C", "tokens")),
    };
    static constexpr std::array states{
        optional(state("key_cache", "B M kv_heads*D", "M", "keys of earlier steps; always (B, M), in either layout")),
        optional(state("value_cache", "B M kv_heads*D", "M", "values of earlier steps, likewise")),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("products and heads in registers, no shared memory; two query rows an invocation"),
        variant("tiled", "products and heads by way of shared memory; few query rows: a workgroup each", 0),
        variant("wide", "as baseline, with four query rows an invocation: for software drivers", 0),
    };
    static constexpr std::array tolerances{tolerance(2e-5, 2e-6)};
    static constexpr std::array cases{
        "B=1 Tq=1 C=1 D=1 heads=1",
        "B=2 Tq=37 C=64 D=8 heads=8 causal=1 +query_bias +key_bias +value_bias +out_bias +residual",
        "B=2 Tq=5 Tk=7 C=32 S=24 D=8 heads=4 +source +key_lengths +query_bias",
        "B=2 Tq=9 Tk=33 C=31 S=24 D=16 heads=2 +source +key_lengths +out_bias +residual key_lengths=zeros",
        "B=2 Tq=35 Tk=67 C=32 S=24 D=16 heads=2 +source +key_mask +residual",
        "B=3 Tq=9 C=24 D=12 heads=2 causal=1 batch_first=0 +key_mask +key_lengths",
        "B=3 Tq=33 Tk=65 C=40 S=56 D=20 heads=2 batch_first=0 +source +keep_mask +residual weights=f16",
        "B=2 Tq=17 C=48 D=16 heads=6 kv_heads=2 causal=1 +score_bias +key_lengths weights=bf16 score_bias=large",
        "B=1 Tq=9 C=50 D=37 heads=2 kv_heads=1 batch_first=0 +keep_mask +score_bias +out_bias",
        "B=1 Tq=131 C=128 D=64 heads=2 causal=1 weights=f16",
        "B=1 Tq=261 C=32 D=32 heads=2 causal=1 batch_first=0",
        "B=2 Tq=9 Tk=1025 C=24 S=16 D=8 heads=4 kv_heads=2 +source +keep_mask",
        "B=1 Tq=6 C=96 D=96 heads=2 +key_lengths key_lengths=one",
        "B=1 Tq=11 Tk=19 C=64 S=32 D=256 heads=1 +source",
        "B=3 Tq=1 M=140 C=32 D=16 heads=4 kv_heads=2 causal=1 +position +key_cache +value_cache +key_bias",
        "B=16 Tq=1 M=260 C=32 D=16 heads=2 causal=1 +position +key_cache +value_cache",
        "B=8 Tq=5 M=260 C=24 D=12 heads=2 causal=1 +position +key_cache +value_cache +query_bias",
        "B=2 Tq=9 M=14 C=32 D=32 heads=2 causal=1 batch_first=0 +position +key_cache +value_cache +residual",
        "B=2 Tq=3 M=9 C=24 D=12 heads=2 +position +key_cache +value_cache",
        "B=3 Tq=2 Tk=7 M=8 C=32 S=16 D=160 heads=2 +source +position +key_lengths +key_cache +value_cache",
        "B=2 Tq=3 Tk=7 M=8 C=32 S=16 D=16 heads=2 batch_first=0 +source +position +key_mask +key_cache +value_cache "
        "position=zeros",
    };

    static void check(const Call &call) {
        const Setting s(call);
        if (s.heads % s.kv_heads != 0)
            throw Invalid("heads must be a multiple of kv_heads: found " + std::to_string(s.heads) + " and " +
                          std::to_string(s.kv_heads));
        if (static_cast<bool>(call.state("key_cache")) != static_cast<bool>(call.state("value_cache")))
            throw Invalid("key_cache and value_cache belong together: give both, or leave both out");
        if (call.in("key_mask") && call.in("keep_mask"))
            throw Invalid("key_mask and keep_mask are both given: give a keep_mask that is 0 where either of them is");
        if (s.growing && (s.key_lengths || s.mask || s.score_bias))
            throw Invalid("key_lengths, masks and score_bias say nothing of the keys of earlier steps: leave them "
                          "out where self attention has a cache");
        if (s.cached && s.source.length > s.key_rows)
            throw Invalid("the source has " + std::to_string(s.source.length) + " rows and the cache only " +
                          std::to_string(s.key_rows));
    }

    static void reference(const Call &call) { Reference(call).run(); }
    static void plan(const Call &call, Plan &plan) { Planner(call, plan).run(); }
};

} // namespace

LAMINA_PLUGIN(Attention)
