// Linear attention by the gated delta rule, with or without a state. README.md has the maths.
#include <lamina/plugin.hpp>
#include <lamina/plugin/chunks.hpp>

#include "gated_delta_rule.kernels.hpp"

#include <algorithm>
#include <cmath>

namespace {
using namespace lamina::plugin;

// Where the parts of a row of x begin, and what its sizes are.
struct Heads {
    int64_t count, key_count, key_dim, value_dim;
    bool tiled;

    explicit Heads(const Call &call)
        : count(call.integer("heads")), key_count(call.integer("key_heads")), key_dim(call.integer("key_dim")),
          value_dim(call.out("y").cols() / count), tiled(call.flag("tiled")) {}

    [[nodiscard]] int64_t query(int64_t head) const { return key_head(head) * key_dim; }
    [[nodiscard]] int64_t key(int64_t head) const { return (key_count + key_head(head)) * key_dim; }
    [[nodiscard]] int64_t value(int64_t head) const { return 2 * key_count * key_dim + head * value_dim; }

  private:
    [[nodiscard]] int64_t key_head(int64_t head) const { return tiled ? head % key_count : head / (count / key_count); }
};

// Of one sequence and head: its memory, and how a token changes it.
class Memory {
  public:
    Memory(int64_t rows, int64_t columns)
        : columns_(static_cast<size_t>(columns)), values_(static_cast<size_t>(rows * columns)) {}

    [[nodiscard]] std::vector<double> recall(const std::vector<double> &by) const {
        std::vector<double> out(columns_);
        for (size_t i = 0; i < by.size(); ++i)
            for (size_t j = 0; j < columns_; ++j) out[j] += by[i] * values_[i * columns_ + j];
        return out;
    }
    void fade(double factor) {
        for (double &value : values_) value *= factor;
    }
    void add(const std::vector<double> &key, const std::vector<double> &value) {
        for (size_t i = 0; i < key.size(); ++i)
            for (size_t j = 0; j < columns_; ++j) values_[i * columns_ + j] += key[i] * value[j];
    }
    [[nodiscard]] std::vector<double> &values() { return values_; }

  private:
    size_t columns_;
    std::vector<double> values_;
};

// A vector of the length 1, times a factor.
std::vector<double> unit(std::span<const float> of, double eps, double factor) {
    std::vector<double> out(of.begin(), of.end());
    double square = 0;
    for (const double v : out) square += v * v;
    for (double &v : out) v *= factor / std::sqrt(square + eps);
    return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

struct GatedDeltaRule {
    static constexpr auto id = "gated_delta_rule";
    static constexpr auto summary =
        "what queries recall from a memory of keys and values that fades and corrects itself, token by token";
    static constexpr auto source = "Yang, Kautz, Hatamizadeh: Gated Delta Networks, arXiv:2412.06464, equation 10; "
                                   "Schlag et al.: Linear Transformers Are Secretly Fast Weight Programmers, "
                                   "arXiv:2102.11174";

    static constexpr std::array params{
        required(integer("heads", "memories, each with values of its own", 1, 1)),
        follows(integer("key_heads", "of queries and keys, each shared by heads / key_heads memories", 1, 1), "heads"),
        required(integer("key_dim", "channels of a query and a key", 1, 1, 256)),
        boolean("tiled", "memory h has the keys of head h % key_heads; false: of h / (heads / key_heads)", false),
        real("eps", "added to the squared length of queries and keys, which are brought to the length 1", 1e-6, 0, 1),
    };
    static constexpr std::array inputs{
        input("x", "B T 2*key_heads*key_dim+heads*E", "for each token the queries, then the keys, then the values"),
        input("fading", "B T heads", "how fast memories fade, before the softplus"),
        input("writing", "B T heads", "how much of a value is written, before the sigmoid"),
        optional(indices("position", "B", "0 2147483647", "of a sequence's first token; at 0 its memories are empty")),
        optional(indices("lengths", "B", "0 T+1", "how many of a sequence's tokens count; all when left out")),
    };
    static constexpr std::array weights{
        weight("log_rate", "heads", "the logarithm of what the softplus is multiplied by"),
        weight("offset", "heads", "added to `fading`"),
    };
    static constexpr std::array outputs{
        output("y", "B T heads*E", "what each token recalls, the heads side by side; 0 for those that do not count"),
    };
    static constexpr std::array states{
        goes_with(state("memory", "B heads key_dim E", nullptr, "the memories after earlier tokens"), "position"),
    };

    static constexpr auto work = "7*key_dim";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("eight invocations for each column of a memory, which they keep in registers"),
        variant("chunked", "for 16 tokens or more: 16 at a time, by products of matrices", 0),
    };
    static constexpr std::array tolerances{tolerance(2e-5, 2e-6)};
    static constexpr std::array cases{
        "B=1 T=1 heads=1 key_dim=1 E=1",
        "B=2 T=5 heads=4 key_heads=2 key_dim=16 E=8",
        "B=2 T=9 heads=6 key_heads=2 key_dim=20 E=17 tiled=1",
        "B=1 T=67 heads=2 key_dim=128 E=33",
        "B=1 T=130 heads=3 key_heads=1 key_dim=64 E=64 eps=0 weights=f16",
        "B=2 T=3 heads=2 key_dim=256 E=40 weights=bf16",
        "B=3 T=1 heads=4 key_heads=2 key_dim=128 E=128 +position +memory",
        "B=2 T=1 heads=4 key_heads=2 key_dim=24 E=16 tiled=1 +position +memory position=zeros",
        "B=5 T=7 heads=2 key_dim=32 E=20 +position +memory +lengths",
        "B=3 T=2 heads=3 key_dim=19 E=5 +position +memory +lengths lengths=zeros",
        "B=2 T=40 heads=4 key_heads=2 key_dim=96 E=48 +position +memory",
        "B=2 T=6 heads=2 key_dim=12 E=9 +lengths +position",
        "B=4 T=53 heads=4 key_heads=2 key_dim=44 E=21 +position +memory +lengths",
        "B=2 T=3 heads=4 key_heads=2 key_dim=128 E=9 +position +memory position=one",
        "B=1 T=19 heads=2 key_dim=16 E=16 fading=large writing=large",
        "B=1 T=300 heads=1 key_dim=8 E=8 x=offset",
        "B=2 T=70 heads=8 key_dim=16 E=8 fading=overflow",
        "B=1 T=18 heads=2 key_dim=16 E=16 eps=0 +position +memory",
    };

    static void check(const Call &call) {
        const int64_t heads = call.integer("heads"), key_heads = call.integer("key_heads");
        if (heads % key_heads != 0)
            throw Invalid("heads must be a multiple of key_heads: found " + std::to_string(heads) + " and " +
                          std::to_string(key_heads));
        if (call.state("memory") && !call.in("position"))
            throw Invalid("memory is given without a position, which says whether a sequence has begun: give both");
    }

    static void reference(const Call &call) {
        const Tensor y = call.out("y"), lengths = call.in("lengths");
        const Heads heads(call);
        std::ranges::fill(y.f32(), 0.0F);
        for (int64_t b = 0; b < y.dim(0); ++b)
            for (int64_t h = 0; h < heads.count; ++h)
                follow(call, heads, b, h, lengths ? lengths.i32()[static_cast<size_t>(b)] : y.dim(1));
    }

    static void plan(const Call &call, Plan &plan) {
        constexpr int64_t columns = 16, lanes = 8; // of a workgroup; invocations for each column
        const Tensor x = call.in("x"), y = call.out("y"), memory = call.state("memory");
        const Heads heads(call);
        const int64_t batch = y.dim(0);
        (void)u32(x.size()), (void)u32(y.size()); // the kernel counts elements in 32 bits
        const int64_t values = batch * heads.count * heads.key_dim * heads.value_dim;
        const Push push{u32(batch),
                        u32(y.dim(1)),
                        u32(heads.count),
                        u32(heads.key_count),
                        u32(heads.key_dim),
                        u32(heads.value_dim),
                        static_cast<float>(call.real("eps"))};
        (void)u32(values);
        // Without a state, memories end in memory that nobody reads.
        const lamina_ref after =
            memory ? plan.state("memory") : plan.scratch(values * static_cast<int64_t>(sizeof(float)));
        const Groups tiles = plan.spread(batch * heads.count * ceil_div(heads.value_dim, columns));
        const lamina_spec of_rate{0, dtype_of(call.weight("log_rate"))}, of_offset{1, dtype_of(call.weight("offset"))},
            has_memory{2, static_cast<bool>(memory)}, has_lengths{3, static_cast<bool>(call.in("lengths"))},
            tiled{4, heads.tiled};
        if (plan.variant == 1) {
            const Chunks chunks(y.dim(1), heads.key_dim, Chunks::corrects);
            const lamina_ref found = plan.scratch(chunks.bytes(call, batch * heads.count));
            plan.dispatch(lamina_kernels::gated_delta_rule_chunk, plan.spread(batch * heads.count * chunks.count),
                          {plan.in("x"), plan.in("fading"), plan.in("writing"), plan.in("lengths"),
                           plan.weight("log_rate"), plan.weight("offset"), found},
                          push, {of_rate, of_offset, has_lengths, tiled, chunks.rows});
            return plan.dispatch(lamina_kernels::gated_delta_rule_apply, tiles,
                                 {plan.in("x"), plan.in("position"), plan.in("lengths"), found, after, plan.out("y")},
                                 push, {has_memory, has_lengths, chunks.rows});
        }
        plan.dispatch(lamina_kernels::gated_delta_rule, tiles,
                      {plan.in("x"), plan.in("fading"), plan.in("writing"), plan.in("position"), plan.in("lengths"),
                       plan.weight("log_rate"), plan.weight("offset"), after, plan.out("y")},
                      push,
                      {of_rate, of_offset, has_memory, has_lengths, tiled, {5, u32(ceil_div(heads.key_dim, lanes))}});
    }

  private:
    struct Push {
        uint32_t sequences, steps, heads, key_heads, key_dim, value_dim;
        float eps;
    };

    // The first tokens of a sequence, one after the other, in one head.
    static void follow(const Call &call, const Heads &heads, int64_t b, int64_t h, int64_t tokens) {
        const Tensor x = call.in("x"), y = call.out("y"), position = call.in("position"), state = call.state("memory");
        Memory memory(heads.key_dim, heads.value_dim);
        std::span<float> kept;
        if (state) kept = state.f32().subspan(static_cast<size_t>(b * heads.count + h) * memory.values().size());
        if (state) kept = kept.first(memory.values().size());
        if (state && position.i32()[static_cast<size_t>(b)] > 0) std::ranges::copy(kept, memory.values().begin());
        const double eps = call.real("eps"), scale = 1 / std::sqrt(static_cast<double>(heads.key_dim));
        const auto head = static_cast<size_t>(h);
        const double rate = std::exp(call.weight("log_rate").f32()[head]), offset = call.weight("offset").f32()[head];
        for (int64_t t = 0; t < tokens; ++t) {
            const int64_t r = b * y.dim(1) + t;
            const auto part = [&](int64_t first, int64_t size) {
                return x.row(r).subspan(static_cast<size_t>(first), static_cast<size_t>(size));
            };
            const std::vector<double> query = unit(part(heads.query(h), heads.key_dim), eps, scale),
                                      key = unit(part(heads.key(h), heads.key_dim), eps, 1);
            const auto value = part(heads.value(h), heads.value_dim);
            memory.fade(std::exp(-rate * softplus(call.in("fading").row(r)[head] + offset)));
            const double share = sigmoid(call.in("writing").row(r)[head]);
            std::vector<double> correction = memory.recall(key); // of what the memory has for this key
            for (size_t j = 0; j < correction.size(); ++j) correction[j] = share * (value[j] - correction[j]);
            memory.add(key, correction);
            std::ranges::transform(memory.recall(query),
                                   y.row(r).subspan(static_cast<size_t>(h * heads.value_dim)).begin(),
                                   [](double v) { return static_cast<float>(v); });
        }
        if (state)
            std::ranges::transform(memory.values(), kept.begin(), [](double v) { return static_cast<float>(v); });
    }
};

} // namespace

LAMINA_PLUGIN(GatedDeltaRule)
