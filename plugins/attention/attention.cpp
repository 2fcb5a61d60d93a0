// Attention of queries to keys and values, with or without a cache of those. README.md has the maths.
#include <lamina/plugin.hpp>

#include "attention.kernels.hpp"
#include "planner.hpp"
#include "reference.hpp"
#include "setting.hpp"

#include <algorithm>

namespace {
using namespace lamina::plugin;
using namespace attention;

// Writes new keys or values into their cache, and returns the cache.
lamina_ref append(const Call &call, Plan &plan, const Setting &s, const char *input, const char *state) {
    const struct {
        uint32_t batch, rows, cols, cache_rows, batch_stride, time_stride;
    } push{u32(s.k.batch),  u32(s.k.length),       u32(s.key_width()),
           u32(s.key_rows), u32(s.k.batch_stride), u32(s.k.time_stride)};
    const lamina_ref cache = plan.state(state);
    const uint32_t dtype = call.state(state).dtype();
    const int64_t pieces = call.in(input).size() / appended_together(dtype);
    plan.dispatch(lamina_kernels::append, plan.spread(ceil_div(pieces, 64)),
                  {plan.in(input), plan.in("position"), cache}, push, {{0, s.positioned()}, {1, dtype}});
    return cache;
}

constexpr lamina_port cache(const char *name, const char *summary) {
    return or_q8_0(or_f16(state(name, "B M kv_heads*D", "M", summary)));
}

constexpr lamina_port of_heads(const char *name, const char *summary) {
    lamina_port port = optional(weight(name, "heads", summary));
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
        optional(indices("ahead", "B Tq", "0 Tq",
                         "how many keys after its own position a query may attend to, though causal; 0 when left out")),
        optional(indices("first_keys", "B", "0 Tk+1",
                         "how many of a sequence's first keys a query may attend to wherever its window begins")),
        optional(indices("query_lengths", "B", "0 Tq+1", "how many of a sequence's queries count; y of others is 0")),
        optional(indices("key_mask", "B Tk", "0 2", "1: the key may be attended to; 0: it is padding")),
        optional(indices("keep_mask", "B Tq Tk", "0 2", "1: the query may attend to the key")),
        optional(input("score_bias", "B heads Tq Tk", "added to the scores")),
        optional(input("distance_bias", "heads 2*R+1",
                       "added to the scores of keys d positions after the query: column R + d; d is limited to +-R")),
        optional(indices("position", "B", "0 2147483647",
                         "row of a sequence's first query and key in the caches; 0 when left out")),
    };
    static constexpr std::array weights{
        of_heads("slopes", "times the distance of a key, subtracted from its score"),
        of_heads("sinks", "the score of one more key, whose value is 0"),
    };
    static constexpr std::array outputs{
        by_rows(sequence(
            output("y", "B Tq heads*D", "for each query, the weighted sum of the values, the heads side by side"))),
    };
    static constexpr std::array states{
        goes_with(cache("key_cache", "keys of all steps; always (B, M), in either layout"), "position"),
        goes_with(cache("value_cache", "values of all steps, likewise, unless the keys are the values"), "position v"),
    };

    // The caches replace the keys of the call, which they then contain.
    static constexpr auto work = "4*Tk key_cache:4*M-4*Tk";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr auto variants = attention::variants;
    static constexpr auto tolerances = attention::tolerances;
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
        "B=2 Tq=33 Tk=33 M=70 D=20 heads=3 +position +key_cache key_cache=f16",
        "B=2 Tq=1 Tk=1 M=300 D=36 heads=5 kv_heads=1 causal=1 scale=0.5 +position +key_cache",
        "B=2 Tq=1 Tk=1 M=600 D=64 heads=6 kv_heads=3 causal=1 +v +position +key_cache +value_cache key_cache=q8_0 "
        "value_cache=q8_0",
        "B=2 Tq=37 Tk=37 M=70 D=96 heads=4 kv_heads=2 causal=1 batch_first=0 +v +position +key_cache +value_cache "
        "key_cache=q8_0 value_cache=f16",
        "B=3 Tq=5 Tk=5 M=40 D=32 heads=4 causal=1 window=9 +v +position +key_cache +value_cache value_cache=q8_0 "
        "v=spread",
        "B=2 Tq=2 Tk=2 M=40 D=160 heads=8 kv_heads=2 causal=1 softcap=50 +v +position +key_cache +value_cache "
        "position=zeros",
        "B=2 Tq=37 Tk=37 D=16 heads=3 R=9 scale=1 +v +key_mask +distance_bias",
        "B=1 Tq=5 Tk=67 D=20 heads=2 kv_heads=1 R=40 batch_first=0 softcap=9 +v +distance_bias distance_bias=large",
        "B=1 Tq=131 Tk=131 D=64 heads=2 R=128 causal=1 +v +distance_bias",
        "B=3 Tq=1 Tk=1 M=600 D=16 heads=4 kv_heads=2 R=32 causal=1 +v +distance_bias +position +key_cache "
        "+value_cache",
        "B=4 Tq=9 Tk=9 M=40 D=12 heads=2 R=7 causal=1 +v +distance_bias +position +key_cache +value_cache",
        "B=2 Tq=131 Tk=131 D=64 heads=3 +v +key_lengths +slopes slopes=positive",
        "B=2 Tq=131 Tk=131 D=64 heads=4 kv_heads=2 causal=1 window=33 +v +sinks",
        "B=2 Tq=37 Tk=3 D=32 heads=2 +v +slopes +sinks slopes=positive",
        "B=2 Tq=9 Tk=33 D=16 heads=2 +v +key_lengths +sinks key_lengths=zeros",
        "B=2 Tq=17 Tk=17 D=40 heads=6 kv_heads=3 softcap=5 +v +key_mask +score_bias +sinks sinks=large",
        "B=3 Tq=1 Tk=1 M=600 D=64 heads=8 kv_heads=2 causal=1 window=128 +v +position +key_cache +value_cache +sinks",
        "B=2 Tq=1 Tk=1 M=1100 D=20 heads=2 causal=1 +v +position +key_cache +value_cache +sinks",
        "B=4 Tq=5 Tk=5 M=40 D=37 heads=2 causal=1 batch_first=0 +v +position +key_cache +value_cache +sinks",
        "B=3 Tq=1 Tk=1 M=600 D=16 heads=4 kv_heads=2 causal=1 +v +position +key_cache +value_cache +slopes "
        "slopes=positive",
        "B=2 Tq=9 Tk=9 M=40 D=12 heads=2 causal=1 window=5 +v +position +key_cache +value_cache +slopes "
        "slopes=positive",
        "B=2 Tq=131 Tk=131 D=64 heads=4 kv_heads=2 causal=1 window=33 +v +ahead",
        "B=3 Tq=9 Tk=9 D=12 heads=2 causal=1 batch_first=0 +v +key_lengths +ahead",
        "B=2 Tq=9 Tk=21 D=16 heads=2 causal=1 +v +ahead",
        "B=2 Tq=67 Tk=67 M=140 D=32 heads=4 kv_heads=2 causal=1 window=40 +v +position +ahead +key_cache +value_cache",
        "B=3 Tq=5 Tk=5 M=300 D=20 heads=2 causal=1 +v +position +ahead +key_cache +value_cache key_cache=f16 "
        "value_cache=f16",
        "B=2 Tq=131 Tk=131 D=64 heads=2 window=9 two_sided=1 +v +key_lengths +first_keys first_keys=one",
        "B=3 Tq=135 Tk=135 D=20 heads=4 kv_heads=2 window=17 two_sided=1 +v +first_keys",
        "B=3 Tq=67 Tk=67 D=12 heads=2 causal=1 window=5 batch_first=0 +v +first_keys",
        "B=3 Tq=5 Tk=5 D=64 heads=4 kv_heads=2 causal=1 window=2 +v +first_keys +sinks",
        "B=3 Tq=131 Tk=131 D=64 heads=3 +v +key_lengths +query_lengths",
        "B=2 Tq=67 Tk=33 D=20 heads=4 kv_heads=2 batch_first=0 +v +query_lengths query_lengths=one",
        "B=3 Tq=9 Tk=300 D=12 heads=2 +v +query_lengths +sinks",
        "B=2 Tq=5 Tk=600 D=32 heads=2 +v +query_lengths",
    };

    static void check(const Call &call) {
        const Setting s(call);
        const auto text = [](int64_t n) { return std::to_string(n); };
        if (s.heads % s.kv_heads != 0)
            throw Invalid("heads must be a multiple of kv_heads: found " + text(s.heads) + " and " + text(s.kv_heads));
        if (static_cast<bool>(call.state("value_cache")) != (s.cached && !s.keys_are_values))
            throw Invalid(
                "a value_cache belongs to a key_cache, unless v is left out: then the keys are the values, and "
                "there is a key_cache alone");
        if (call.in("key_mask") && call.in("keep_mask"))
            throw Invalid("key_mask and keep_mask are both given: give a keep_mask that is 0 where either of them is");
        if (s.ahead && (s.mask || !s.causal))
            throw Invalid(
                "ahead is given beside a mask, or without causal: it says how far a causal query looks ahead, "
                "and a keep_mask that, too");
        const std::array alike{static_cast<bool>(s.ahead), static_cast<bool>(s.first_keys),
                               static_cast<bool>(s.query_lengths), static_cast<bool>(s.mask)};
        if (std::ranges::count(alike, true) > 1)
            throw Invalid(
                "two of ahead, first_keys, query_lengths and the masks are given, of which a kernel takes one: "
                "give a keep_mask that says what both do");
        if (s.score_bias && s.distance_bias)
            throw Invalid("score_bias and distance_bias are both given: give a score_bias that is the sum of the two");
        if (s.slopes && (s.score_bias || s.distance_bias))
            throw Invalid("slopes are given beside another bias: give a single one, which is the sum of the two");
        if (!s.cached) return;
        if (s.key_lengths || s.first_keys || s.mask || s.score_bias)
            throw Invalid(
                "key_lengths, first_keys, masks and score_bias say nothing of the keys of earlier steps: leave "
                "them out where attention has a position, and with it a cache; distance_bias may stay");
        if (s.q.length != s.k.length)
            throw Invalid("over a cache, queries are as many as new keys: found " + text(s.q.length) + " and " +
                          text(s.k.length));
        for (const char *name : {"key_cache", "value_cache"}) {
            if (!call.state(name)) continue;
            const uint32_t dtype = call.state(name).dtype();
            if (dtype == LAMINA_F16 && s.key_width() % 2 != 0)
                throw Invalid(std::string(name) + " is f16 and its rows have " + text(s.key_width()) +
                              " values; two halves share a word, so expected an even number: use an f32 cache");
            if (dtype == LAMINA_Q8_0 &&
                (s.head_dim % Q8_0::values != 0 || s.key_width() % appended_together(dtype) != 0))
                throw Invalid(std::string(name) + " is q8_0 and has " + text(s.kv_heads) + " heads of " +
                              text(s.head_dim) +
                              " values; 32 values share a scale, and two blocks 17 words, so "
                              "expected heads of a multiple of 32, and rows of a multiple of 64: use an f16 cache");
        }
        if (s.k.length > s.key_rows)
            throw Invalid("there are " + text(s.k.length) + " keys and the cache has only " + text(s.key_rows) +
                          " rows");
    }

    static void reference(const Call &call) { Reference(call).run(); }
    // First append to the caches, then compute the heads.
    static void plan(const Call &call, Plan &plan) {
        Planner planner(call, plan);
        planner.check_bindings();
        const Setting &s = planner.setting();
        const lamina_ref k = s.cached ? append(call, plan, s, "k", "key_cache") : plan.in("k");
        const lamina_ref v = s.keys_are_values ? k
                             : s.cached        ? append(call, plan, s, "v", "value_cache")
                                               : plan.in("v");
        planner.attend(plan.in("q"), k, v);
    }
};

} // namespace

LAMINA_PLUGIN(Attention)
