// What RWKV-7 has instead of attention: a memory that fades by channel and corrects itself. README.md has the maths.
#include <lamina/plugin.hpp>
#include <lamina/plugin/chunks.hpp>

#include "wkv7.kernels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {
using namespace lamina::plugin;

using Values = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What a head of a token has of a tensor: `size` values.
std::span<float> part_of(const Tensor &tensor, int64_t row, int64_t head, int64_t size) {
    return tensor.row(row).subspan(static_cast<size_t>(head * size), static_cast<size_t>(size));
}

// One token in one head.
struct Token {
    Values query, key, old_key, rate, fade, value; // old_key: of the length 1

    Token(const Call &call, int64_t row, int64_t head, int64_t key_dim, int64_t value_dim) {
        const auto of = [&](const char *port) { return part_of(call.in(port), row, head, key_dim); };
        const auto weight = [&](const char *port) {
            return call.weight(port).f32().subspan(static_cast<size_t>(head * key_dim), static_cast<size_t>(key_dim));
        };
        query.assign(of("query").begin(), of("query").end());
        const auto keys = of("key"), fading = of("fading"), rates = of("rate"), of_old = weight("old_key"),
                   of_rate = weight("key_rate");
        double square = call.real("key_eps");
        for (size_t i = 0; i < query.size(); ++i) {
            rate.push_back(sigmoid(rates[i]));
            fade.push_back(std::exp(-std::exp(-0.5) * sigmoid(fading[i])));
            key.push_back(keys[i] * (1 + (rate[i] - 1) * of_rate[i]));
            old_key.push_back(static_cast<double>(keys[i]) * of_old[i]);
            square += old_key[i] * old_key[i];
        }
        for (double &v : old_key) v /= std::sqrt(square);
        const auto values = part_of(call.in("value"), row, head, value_dim);
        value.assign(values.begin(), values.end());
        if (!call.in("first_value")) return;
        const auto first = part_of(call.in("first_value"), row, head, value_dim),
                   share = part_of(call.in("first_share"), row, head, value_dim);
        for (size_t j = 0; j < value.size(); ++j) value[j] += (first[j] - value[j]) * sigmoid(share[j]);
    }
};

// Of one sequence and head: its memory, and how a token changes it.
class Memory {
  public:
    Memory(int64_t rows, int64_t columns)
        : columns_(static_cast<size_t>(columns)), values_(static_cast<size_t>(rows * columns)) {}

    [[nodiscard]] Values recall(const Values &by) const {
        Values out(columns_);
        for (size_t i = 0; i < by.size(); ++i)
            for (size_t j = 0; j < columns_; ++j) out[j] += by[i] * values_[i * columns_ + j];
        return out;
    }
    void take_in(const Token &token) {
        const Values old = recall(token.old_key);
        for (size_t i = 0; i < token.key.size(); ++i)
            for (size_t j = 0; j < columns_; ++j) {
                double &at = values_[i * columns_ + j];
                at = token.fade[i] * at - token.rate[i] * token.old_key[i] * old[j] + token.key[i] * token.value[j];
            }
    }
    [[nodiscard]] Values &values() { return values_; }

  private:
    size_t columns_;
    Values values_;
};

struct Wkv7 {
    static constexpr auto id = "wkv7";
    static constexpr auto summary =
        "what queries recall from a memory that fades by channel and corrects itself, normalized and gated: RWKV-7";
    static constexpr auto source = "Peng et al.: RWKV-7 \"Goose\", arXiv:2503.14456, section 4.1";

    static constexpr std::array params{
        required(integer("heads", "memories", 1, 1)),
        real("eps", "added to the variance of what a head recalls", 64e-5, 0, 1),
        real("key_eps", "added to the squared length of old keys, which are brought to the length 1", 1e-24, 0, 1),
    };
    static constexpr std::array inputs{
        input("query", "B T heads*D", "r of the paper: what is asked for"),
        input("fading", "B T heads*D", "how fast the memory's rows fade, before the sigmoid"),
        input("key", "B T heads*D", "what is written, and where"),
        input("value", "B T heads*E", "what is written"),
        input("rate", "B T heads*D", "a of the paper: how much of the old value is replaced, before the sigmoid"),
        input("gate", "B T heads*E", "what results are multiplied by"),
        optional(input("first_value", "B T heads*E", "values of the model's first layer, which are mixed in")),
        optional(input("first_share", "B T heads*E", "their share, before the sigmoid")),
        optional(indices("position", "B", "0 2147483647", "of a sequence's first token; at 0 its memories are empty")),
        optional(indices("lengths", "B", "0 T+1", "how many of a sequence's tokens count; all when left out")),
    };
    static constexpr std::array weights{
        weight("old_key", "heads*D", "factors of keys for what is replaced"),
        weight("key_rate", "heads*D", "how much the rate changes the keys that are written"),
        weight("bonus", "heads*D", "factors of query and key for a token's own value"),
        weight("weight", "heads*E", "scale of what is recalled, once it is normalized"),
        weight("bias", "heads*E", "offset of the same"),
    };
    static constexpr std::array outputs{
        output("y", "B T heads*E", "what each token recalls, the heads side by side; 0 for those that do not count"),
    };
    static constexpr std::array states{
        goes_with(state("memory", "B heads D E", nullptr, "the memories after earlier tokens"), "position"),
    };

    static constexpr auto work = "9*D";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("eight invocations for each column of a memory, which they keep in registers"),
        variant("chunked", "for 16 tokens or more: 16 at a time, by products of matrices", 0),
    };
    static constexpr std::array tolerances{tolerance(2e-5, 2e-6)};
    static constexpr std::array cases{
        "B=1 T=1 heads=1 D=1 E=2",
        "B=2 T=5 heads=3 D=16 E=8",
        "B=2 T=9 heads=2 D=20 E=17 +first_value +first_share",
        "B=1 T=67 heads=1 D=64 E=64 +first_value +first_share",
        "B=1 T=130 heads=1 D=64 E=20 weights=f16",
        "B=2 T=3 heads=2 D=128 E=40 weights=bf16",
        "B=3 T=1 heads=4 D=64 E=64 +first_value +first_share +position +memory",
        "B=2 T=1 heads=4 D=24 E=16 +position +memory position=zeros",
        "B=5 T=7 heads=2 D=32 E=20 +position +memory +lengths +first_value +first_share",
        "B=3 T=2 heads=3 D=19 E=5 +position +memory +lengths lengths=zeros",
        "B=2 T=20 heads=2 D=96 E=24 +position +memory",
        "B=2 T=6 heads=2 D=12 E=9 +lengths +position",
        "B=4 T=53 heads=2 D=44 E=21 +position +memory +lengths",
        "B=2 T=3 heads=4 D=64 E=9 +position +memory position=one",
        "B=1 T=19 heads=2 D=16 E=16 fading=large rate=large key_eps=1e-6",
        "B=1 T=300 heads=1 D=8 E=8",
    };

    static void check(const Call &call) {
        constexpr int64_t most = 128; // what a workgroup has room for
        if (const int64_t key_dim = call.in("key").cols() / call.integer("heads"); key_dim > most)
            throw Invalid("a head has " + std::to_string(key_dim) + " channels of keys; expected at most " +
                          std::to_string(most));
        if (static_cast<bool>(call.in("first_value")) != static_cast<bool>(call.in("first_share")))
            throw Invalid("first_value and first_share are the values of the first layer and their share: give both, "
                          "or neither");
        if (call.state("memory") && !call.in("position"))
            throw Invalid("memory is given without a position, which says whether a sequence has begun: give both");
    }

    static void reference(const Call &call) {
        const Tensor y = call.out("y"), lengths = call.in("lengths");
        std::ranges::fill(y.f32(), 0.0F);
        for (int64_t b = 0; b < y.dim(0); ++b)
            for (int64_t h = 0; h < call.integer("heads"); ++h)
                follow(call, b, h, lengths ? lengths.i32()[static_cast<size_t>(b)] : y.dim(1));
    }

    static void plan(const Call &call, Plan &plan) {
        constexpr int64_t columns = 16, lanes = 8; // of a workgroup; invocations for each column
        const Tensor key = call.in("key"), y = call.out("y"), memory = call.state("memory");
        const int64_t heads = call.integer("heads"), batch = y.dim(0), key_dim = key.cols() / heads,
                      value_dim = y.cols() / heads, values = batch * heads * key_dim * value_dim;
        (void)u32(key.size()), (void)u32(y.size()), (void)u32(values); // kernels count elements in 32 bits
        const struct {
            uint32_t sequences, steps, heads, key_dim, value_dim;
            float eps, key_eps;
        } push{u32(batch),
               u32(y.dim(1)),
               u32(heads),
               u32(key_dim),
               u32(value_dim),
               static_cast<float>(call.real("eps")),
               static_cast<float>(call.real("key_eps"))};
        // Without a state, memories end in memory that nobody reads.
        const lamina_ref after =
            memory ? plan.state("memory") : plan.scratch(values * static_cast<int64_t>(sizeof(float)));
        const lamina_ref recalled = plan.scratch(y.size() * static_cast<int64_t>(sizeof(float)));
        const lamina_spec of_rate{0, dtype_of(call.weight("key_rate"))},
            mixes{1, static_cast<bool>(call.in("first_value"))}, has_lengths{2, static_cast<bool>(call.in("lengths"))},
            of_old{3, dtype_of(call.weight("old_key"))}, has_memory{4, static_cast<bool>(memory)};
        const Groups tiles = plan.spread(batch * heads * ceil_div(value_dim, columns));
        if (plan.variant == 1) {
            const Chunks chunks(y.dim(1), key_dim, Chunks::adds | Chunks::corrects);
            const lamina_ref found = plan.scratch(chunks.bytes(call, batch * heads));
            plan.dispatch(lamina_kernels::wkv7_chunk, plan.spread(batch * heads * chunks.count),
                          {plan.in("query"), plan.in("fading"), plan.in("key"), plan.in("rate"), plan.in("lengths"),
                           plan.weight("old_key"), plan.weight("key_rate"), found},
                          push, {of_rate, has_lengths, of_old, chunks.rows});
            plan.dispatch(lamina_kernels::wkv7_apply, tiles,
                          {plan.in("value"), plan.in("first_value"), plan.in("first_share"), plan.in("position"),
                           plan.in("lengths"), found, after, recalled},
                          push, {mixes, has_lengths, has_memory, chunks.rows});
        } else
            plan.dispatch(lamina_kernels::wkv7, tiles,
                          {plan.in("query"), plan.in("fading"), plan.in("key"), plan.in("value"), plan.in("rate"),
                           plan.in("first_value"), plan.in("first_share"), plan.in("position"), plan.in("lengths"),
                           plan.weight("old_key"), plan.weight("key_rate"), after, recalled},
                          push, {of_rate, mixes, has_lengths, of_old, has_memory, {5, u32(ceil_div(key_dim, lanes))}});
        plan.dispatch(lamina_kernels::wkv7_gate, plan.spread(y.rows() * heads),
                      {plan.in("query"), plan.in("key"), plan.in("value"), plan.in("rate"), plan.in("gate"),
                       plan.in("first_value"), plan.in("first_share"), plan.in("lengths"), plan.weight("key_rate"),
                       plan.weight("bonus"), plan.weight("weight"), plan.weight("bias"), recalled, plan.out("y")},
                      push,
                      {of_rate,
                       mixes,
                       has_lengths,
                       {3, dtype_of(call.weight("bonus"))},
                       {4, dtype_of(call.weight("weight"))},
                       {5, dtype_of(call.weight("bias"))}});
    }

  private:
    // The first tokens of a sequence, one after the other, in one head.
    static void follow(const Call &call, int64_t b, int64_t h, int64_t tokens) {
        const Tensor y = call.out("y"), position = call.in("position"), state = call.state("memory");
        const int64_t heads = call.integer("heads"), key_dim = call.in("key").cols() / heads,
                      value_dim = y.cols() / heads;
        Memory memory(key_dim, value_dim);
        std::span<float> kept;
        if (state) kept = state.f32().subspan(static_cast<size_t>(b * heads + h) * memory.values().size());
        if (state) kept = kept.first(memory.values().size());
        if (state && position.i32()[static_cast<size_t>(b)] > 0) std::ranges::copy(kept, memory.values().begin());
        for (int64_t t = 0; t < tokens; ++t) {
            const int64_t row = b * y.dim(1) + t;
            const Token token(call, row, h, key_dim, value_dim);
            memory.take_in(token);
            write(call, token, memory.recall(token.query), row, h);
        }
        if (state)
            std::ranges::transform(memory.values(), kept.begin(), [](double v) { return static_cast<float>(v); });
    }

    // (layer_norm(recalled) + bonus * value) * gate.
    static void write(const Call &call, const Token &token, const Values &recalled, int64_t row, int64_t head) {
        const auto size = static_cast<int64_t>(recalled.size()), key_dim = static_cast<int64_t>(token.key.size());
        const auto of = [&](const char *port) {
            return call.weight(port).f32().subspan(static_cast<size_t>(head * size), recalled.size());
        };
        const auto weight = of("weight"), bias = of("bias"), gate = part_of(call.in("gate"), row, head, size),
                   y = part_of(call.out("y"), row, head, size);
        const double count = static_cast<double>(size),
                     mean = std::accumulate(recalled.begin(), recalled.end(), 0.0) / count;
        double square = 0, bonus = 0;
        for (const double v : recalled) square += (v - mean) * (v - mean);
        const double scale = 1 / std::sqrt(square / count + call.real("eps"));
        const auto factors = call.weight("bonus").f32().subspan(static_cast<size_t>(head * key_dim));
        for (size_t i = 0; i < token.key.size(); ++i) bonus += token.query[i] * token.key[i] * factors[i];
        for (size_t j = 0; j < recalled.size(); ++j)
            y[j] = static_cast<float>(((recalled[j] - mean) * scale * weight[j] + bias[j] + bonus * token.value[j]) *
                                      gate[j]);
    }
};

} // namespace

LAMINA_PLUGIN(Wkv7)
