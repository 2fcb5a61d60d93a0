// Attention over a cache, of queries and keys with rotary positions: rotary, rotary and attention as one layer.
// README.md says what it saves.
#include <lamina/plugin.hpp>

#include "rotary_attention.kernels.hpp"

#include "planner.hpp"

namespace {
using namespace lamina::plugin;

constexpr lamina_port frequencies() {
    lamina_port port =
        weight("frequencies", "P", "radians per position, for each pair of channels; with coordinates, for each axis");
    port.dtypes = LAMINA_F32;
    return port;
}

constexpr lamina_port cache(const char *name, const char *summary) {
    return goes_with(or_q8_0(or_f16(state(name, "B M kv_heads*D", "M", summary))), "position");
}

struct RotaryAttention {
    static constexpr auto id = "rotary_attention";
    static constexpr auto summary = "attention over a cache, of queries and keys that are rotated first";
    static constexpr auto source = "Su et al.: RoFormer, arXiv:2104.09864; Vaswani et al.: Attention Is All You Need, "
                                   "arXiv:1706.03762";

    static constexpr auto fuses = R"({
        "layers": [
            {"name": "queries", "type": "rotary", "inputs": {"x": "q", "position": "position", "coordinates": "coordinates"},
             "weights": {"frequencies": "frequencies"},
             "params": {"heads": "heads", "layout": "layout", "magnitude": "magnitude", "max_len": "max_len",
                        "batch_first": "batch_first"}},
            {"name": "keys", "type": "rotary", "inputs": {"x": "k", "position": "position", "coordinates": "coordinates"},
             "weights": {"frequencies": "frequencies"},
             "params": {"heads": "kv_heads", "layout": "layout", "magnitude": "magnitude", "max_len": "max_len",
                        "batch_first": "batch_first"}},
            {"name": "heads_of_rows", "type": "attention",
             "inputs": {"q": "queries", "k": "keys", "v": "v", "position": "position", "ahead": "ahead"},
             "states": {"key_cache": "key_cache", "value_cache": "value_cache"},
             "params": {"heads": "heads", "kv_heads": "kv_heads", "scale": "scale", "causal": "causal",
                        "window": "window", "two_sided": "two_sided", "softcap": "softcap",
                        "batch_first": "batch_first"}}
        ],
        "outputs": {"y": "heads_of_rows"}
    })";

    // As those of rotary and attention.
    static constexpr std::array params{
        required(integer("heads", "query heads", 1, 1)),
        follows(integer("kv_heads", "key and value heads, each shared by heads / kv_heads query heads", 1, 1), "heads"),
        choice("layout", "a pair is channels 2i and 2i+1, or i and i+P", "interleaved|halves"),
        real("magnitude", "factor of the rotated channels, as in YaRN", 1, 1e-3, 1e3),
        integer("max_len", "positions must be below this: texts that are longer need other frequencies", 2147483648.0,
                1, 2147483648.0),
        real("scale", "factor of the products of queries and keys; 0: 1 / sqrt(D)", 0, 0, 1000),
        boolean("causal", "a query attends to no key after its own position", false),
        integer("window", "a query attends only to keys less than this far before its own position; 0: to all", 0, 0),
        boolean("two_sided", "the window also ends less than that far after the query's own position", false),
        real("softcap", "scores become softcap * tanh(score / softcap); 0: off", 0, 0, 1000),
        batch_first,
    };
    static constexpr std::array inputs{
        sequence(input("q", "B T heads*D", "queries; the heads side by side, D channels each")),
        sequence(input("k", "B T kv_heads*D", "keys")),
        sequence(input("v", "B T kv_heads*D", "values")),
        optional(indices("position", "B", "0 max_len-T+1", "position of a sequence's first row; 0 when left out")),
        optional(sequence(indices("coordinates", "B T A", "0 max_len",
                                  "position of each row on each of A axes, by which it is rotated instead"))),
        optional(indices("ahead", "B T", "0 T",
                         "how many keys after its own position a query may attend to, though causal; 0 when left out")),
    };
    static constexpr std::array weights{
        frequencies(),
    };
    static constexpr std::array outputs{
        by_rows(sequence(
            output("y", "B T heads*D", "for each query, the weighted sum of the values, the heads side by side"))),
    };
    static constexpr std::array states{
        cache("key_cache", "rotated keys of all steps; always (B, M), in either layout"),
        cache("value_cache", "values of all steps, likewise"),
    };

    static constexpr auto work = "4*T key_cache:4*M-4*T";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr auto variants = attention::variants;
    static constexpr auto tolerances = attention::tolerances;
    static constexpr std::array cases{
        "B=3 T=1 M=140 D=16 P=8 heads=4 kv_heads=2 causal=1 layout=halves +position +key_cache +value_cache",
        "B=2 T=1 M=1100 D=64 P=32 heads=3 causal=1 window=700 magnitude=1.25 +position +key_cache +value_cache",
        "B=8 T=5 M=260 D=12 P=4 heads=2 causal=1 window=33 layout=halves +position +key_cache +value_cache",
        "B=2 T=9 M=14 D=32 P=16 heads=2 causal=1 batch_first=0 +position +key_cache +value_cache",
        "B=1 T=1 M=520 D=40 P=3 heads=8 kv_heads=1 causal=1 layout=halves +position +key_cache +value_cache",
        "B=2 T=1 M=600 D=64 P=32 heads=4 kv_heads=2 causal=1 layout=halves +position +key_cache +value_cache "
        "key_cache=f16 value_cache=f16",
        "B=3 T=5 M=40 D=37 P=9 heads=4 kv_heads=2 causal=1 batch_first=0 +position +key_cache +value_cache "
        "key_cache=f16",
        "B=2 T=3 M=40 D=64 P=32 heads=6 kv_heads=3 causal=1 layout=halves +position +key_cache +value_cache "
        "key_cache=q8_0 value_cache=q8_0",
        "B=2 T=33 M=70 D=20 P=5 heads=4 kv_heads=2 layout=halves +position +key_cache +value_cache value_cache=f16",
        "B=2 T=2 M=40 D=160 P=80 heads=8 kv_heads=2 causal=1 softcap=50 +position +key_cache +value_cache "
        "position=zeros",
        "B=2 T=3 M=9 D=8 P=4 heads=2 causal=1 max_len=9 +position +key_cache +value_cache position=max",
        "B=2 T=131 M=140 D=64 P=32 heads=3 kv_heads=1 causal=1 layout=halves +position +key_cache +value_cache",
        "B=2 T=1 M=260 D=16 A=3 P=24 heads=4 kv_heads=2 causal=1 layout=halves +position +coordinates +key_cache "
        "+value_cache",
        "B=2 T=5 M=40 D=12 A=2 P=8 heads=2 causal=1 batch_first=0 +position +coordinates +key_cache +value_cache "
        "key_cache=f16",
        "B=2 T=37 M=70 D=20 P=10 heads=4 kv_heads=2 causal=1 window=9 layout=halves +position +ahead +key_cache "
        "+value_cache",
    };

    static void plan(const Call &call, Plan &plan) {
        attention::Planner planner(call, plan);
        const attention::Setting &s = planner.setting();
        if (!s.cached) throw Unsupported("it takes keys and values in caches");
        planner.check_bindings();
        const lamina_ref queries = plan.scratch(call.in("q").size() * 4);
        const uint32_t of_keys = call.state("key_cache").dtype(), of_values = call.state("value_cache").dtype();
        const int64_t axes = call.in("coordinates") ? call.in("coordinates").cols() : 1;
        const struct {
            uint32_t batch, length, batch_stride, time_stride, heads, kv_heads, depth, pairs, cache_rows, axes;
            float magnitude;
        } push{u32(s.q.batch),
               u32(s.q.length),
               u32(s.q.batch_stride),
               u32(s.q.time_stride),
               u32(s.heads),
               u32(s.kv_heads),
               u32(s.head_dim),
               u32(call.weight("frequencies").cols() / axes),
               u32(s.key_rows),
               u32(axes),
               static_cast<float>(call.real("magnitude"))};
        const int64_t keys = call.in("k").size();
        const int64_t pieces = call.in("q").size() + keys / attention::appended_together(of_keys) +
                               keys / attention::appended_together(of_values);
        plan.dispatch(lamina_kernels::append_rotated, plan.spread(ceil_div(pieces, 64)),
                      {plan.in("q"), plan.in("k"), plan.in("v"), plan.in("position"), plan.weight("frequencies"),
                       queries, plan.state("key_cache"), plan.state("value_cache"), plan.in("coordinates")},
                      push,
                      {{0, static_cast<bool>(call.in("position"))},
                       {1, call.flag("layout")},
                       {2, of_keys},
                       {3, of_values},
                       {4, static_cast<bool>(call.in("coordinates"))}});
        planner.attend(queries, plan.state("key_cache"), plan.state("value_cache"));
    }
};

} // namespace

LAMINA_PLUGIN(RotaryAttention)
