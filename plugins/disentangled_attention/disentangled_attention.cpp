// Attention whose scores also depend on the distance between query and key. README.md has the maths.
#include <lamina/plugin.hpp>

#include "disentangled_attention.kernels.hpp"
#include "setting.hpp"

namespace {
using namespace lamina::plugin;
using disentangled_attention::Setting;

struct DisentangledAttention {
    static constexpr auto id = "disentangled_attention";
    static constexpr auto summary = "softmax(scale * (q kᵀ + q pos_keyᵀ + k pos_queryᵀ)) v of every head, where a row "
                                    "of pos_key and of pos_query is for a distance between query and key";
    static constexpr auto source = "He et al.: DeBERTa: Decoding-enhanced BERT with Disentangled Attention, "
                                   "arXiv:2006.03654, section 3.1; buckets: transformers, modeling_deberta_v2.py";

    static constexpr std::array params{
        required(integer("heads", "they lie side by side in the channels", 1, 1)),
        real("scale", "factor of the sum of products; 0: 1 / sqrt(D times the number of products)", 0, 0, 1000),
        integer("max_distance",
                "distances from S / 2 to this one share rows; the farther, the more. 0: each has its own, up to S", 0,
                0, 1048576),
    };
    static constexpr std::array inputs{
        input("q", "B T heads*D", "queries"),
        input("k", "B T heads*D", "keys"),
        input("v", "B T heads*D", "values"),
        optional(indices("key_lengths", "B", "0 T+1", "how many of a sequence's keys may be attended to")),
    };
    static constexpr std::array weights{
        optional(weight("pos_key", "2*S heads*D",
                        "keys of distances: row S is of distance 0, later ones are of "
                        "keys before the query")),
        optional(weight("pos_query", "2*S heads*D", "queries of distances, likewise")),
    };
    static constexpr std::array outputs{
        by_rows(output("y", "B T heads*D", "for each query, the weighted sum of the values")),
    };

    static constexpr auto work = "4*T pos_key:2*T pos_query:2*T";
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("an invocation per query, head and 32 channels"),
        variant("tiled", "with shared memory: 32 queries of a head per workgroup", 0),
    };
    enum : uint32_t { tiled = 1 };
    static constexpr std::array tolerances{tolerance(2e-5, 2e-6)};
    static constexpr std::array cases{
        "B=1 T=1 D=1 S=1 heads=1 +pos_key +pos_query",
        "B=2 T=37 D=8 S=16 heads=3 max_distance=33 +pos_key +pos_query +key_lengths",
        "B=1 T=131 D=64 S=32 heads=2 max_distance=64 +pos_key +pos_query",
        "B=2 T=67 D=20 S=12 heads=2 +pos_key +key_lengths weights=f16",
        "B=2 T=33 D=37 S=40 heads=2 scale=0.5 +pos_query weights=bf16",
        "B=3 T=65 D=16 S=7 heads=2 max_distance=20 +pos_key +pos_query +key_lengths key_lengths=one",
        "B=2 T=35 D=12 S=9 heads=4 +pos_query +key_lengths key_lengths=zeros",
        "B=1 T=9 D=256 S=4 heads=1 max_distance=6 +pos_key +pos_query",
        "B=1 T=40 D=128 S=4 heads=1 max_distance=6 +pos_key +pos_query",
        "B=1 T=300 D=33 S=64 heads=1 max_distance=128 scale=1 +pos_key +pos_query q=one_hot k=one_hot v=one_hot",
        "B=2 T=40 D=24 S=8 heads=2 max_distance=17 +pos_key +pos_query +key_lengths v=infinite",
        "B=2 T=10 D=300 S=3 heads=1 +pos_key",
        "B=2 T=19 D=40 heads=2 +key_lengths",
        "B=1 T=150 D=16 S=64 heads=2 max_distance=40 +pos_key +pos_query",                // distances leave rows out
        "B=24 T=45 D=8 S=4 heads=1 scale=200 +pos_key q=one_hot k=zeros pos_key=one_hot", // 0 or 200
        "B=2 T=530 D=24 S=16 heads=1 max_distance=32 +pos_key +pos_query +key_lengths",
    };

    static void check(const Call &call) {
        const Setting s(call);
        const auto text = [](int64_t n) { return std::to_string(n); };
        if (s.span == 0 || s.max_distance == 0) return;
        if (s.exact() < 1 || s.max_distance <= s.exact() + 1)
            throw Invalid("there are 2 * " + text(s.span) + " rows for distances up to " + text(s.max_distance) +
                          "; expected at least 2 * 2, and a max_distance of more than " + text(s.exact() + 1) +
                          ", or of 0 if each distance has its own row");
    }

    static void reference(const Call &call) {
        const Setting s(call);
        const Tensor q = call.in("q"), k = call.in("k"), v = call.in("v"), y = call.out("y"),
                     lengths = call.in("key_lengths"), pos_key = call.weight("pos_key"),
                     pos_query = call.weight("pos_query");
        const std::vector<uint32_t> rows = s.rows_of_distances();
        for (const int64_t r : call.wanted(y)) {
            const int64_t b = r / s.length, t = r % s.length;
            const int64_t keys = lengths ? lengths.i32()[static_cast<size_t>(b)] : s.length;
            for (int64_t h = 0; h < s.heads; ++h) {
                const auto head = [&](const Tensor &all, int64_t row) {
                    return all.row(row).subspan(static_cast<size_t>(h * s.head_dim), static_cast<size_t>(s.head_dim));
                };
                double greatest = -1.7e38; // finite, so that a score of -infinity counts as masked
                std::vector<double> shares;
                for (int64_t j = 0; j < keys; ++j) {
                    const int64_t row = rows[static_cast<size_t>(s.length - 1 + t - j)];
                    const std::span<const float> query = head(q, r), key = head(k, b * s.length + j);
                    double score = product(query, key);
                    if (pos_key) score += product(query, head(pos_key, row));
                    if (pos_query) score += product(key, head(pos_query, row));
                    shares.push_back(s.scale * score);
                    greatest = std::max(greatest, shares.back());
                }
                double total = 0;
                for (double &share : shares) total += share = std::exp(share - greatest);
                for (size_t i = 0; i < static_cast<size_t>(s.head_dim); ++i) {
                    double sum = 0;
                    for (int64_t j = 0; j < keys; ++j)
                        sum += shares[static_cast<size_t>(j)] * head(v, b * s.length + j)[i];
                    head(y, r)[i] = static_cast<float>(total == 0 ? 0 : sum / total);
                }
            }
        }
    }

    static void plan(const Call &call, Plan &plan) {
        const Setting s(call);
        const Tensor lengths = call.in("key_lengths");
        const std::vector<uint32_t> rows = s.rows_of_distances();
        const struct {
            uint32_t batch, length, heads, head_dim;
            float scale;
            uint32_t has_lengths;
        } push{u32(s.batch),
               u32(s.length),
               u32(s.heads),
               u32(s.head_dim),
               static_cast<float>(s.scale),
               static_cast<bool>(lengths)};
        const auto dispatch = [&](uint32_t kernel, int64_t groups_of_head, auto... tile) {
            plan.dispatch(
                kernel, plan.spread(s.batch * s.heads * groups_of_head),
                {plan.in("q"), plan.in("k"), plan.in("v"), plan.in("key_lengths"), plan.constant(std::span(rows)),
                 plan.weight("pos_key"), plan.weight("pos_query"), plan.out("y")},
                push, {{0, dtype_of(call.weight("pos_key"))}, {1, dtype_of(call.weight("pos_query"))}, tile...});
        };
        if (plan.variant != tiled)
            return dispatch(lamina_kernels::disentangled_attention, ceil_div(s.length, 64) * ceil_div(s.head_dim, 32));
        if (s.head_dim > 128) throw Unsupported("it takes head dims up to 128, found " + std::to_string(s.head_dim));
        if (call.device().shared_bytes < 22 * 1024) throw Unsupported("it takes 22 KiB of shared memory");
        dispatch(lamina_kernels::disentangled_attention_tiled, ceil_div(s.length, 32),
                 lamina_spec{2, u32(ceil_div(s.head_dim, 32))});
    }

  private:
    static double product(std::span<const float> a, std::span<const float> b) {
        double sum = 0;
        for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
        return sum;
    }
};

} // namespace

LAMINA_PLUGIN(DisentangledAttention)
