// plan_product(): how a product is divided if its matrices exceed the device's binding limit.
#include "catch.hpp"

#include <lamina/plugin/prepare.h>
#include <lamina/plugin/product.hpp>

#include <map>

namespace {
using namespace lamina::plugin;

constexpr ProductKernels numbers{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};

struct Dispatch {
    uint32_t kernel;
    std::vector<lamina_ref> bind;
    uint32_t rows, inner, cols, first_col, y_cols, part_inner;
};

struct Notes {
    std::vector<Dispatch> dispatches, preparation;
    std::vector<uint64_t> scratch, prepared; // bytes
};
Notes &notes_of(const lamina_host *host) { return *static_cast<Notes *>(host->context); }

Dispatch dispatch_of(const lamina_dispatch *d) {
    const auto *push = static_cast<const uint32_t *>(d->push);
    const auto value = [&](uint32_t i) { return i < d->push_bytes / 4 ? push[i] : 0; };
    return {d->kernel, {d->bind, d->bind + d->n_bind}, value(0), value(1), value(2), value(3), value(4), value(5)};
}

constexpr lamina_prepare preparing{
    sizeof(lamina_prepare),
    [](const lamina_host *host, uint64_t bytes, lamina_ref *out) -> lamina_status {
        *out = {0, 0, LAMINA_PREPARED, static_cast<uint32_t>(notes_of(host).prepared.size())};
        notes_of(host).prepared.push_back(bytes);
        return LAMINA_OK;
    },
    [](const lamina_host *host, const lamina_dispatch *d) -> lamina_status {
        notes_of(host).preparation.push_back(dispatch_of(d));
        return LAMINA_OK;
    }};

// A linear layer's contract, and a host that records the plan.
class Harness {
  public:
    Harness(int64_t rows, int64_t inner, int64_t cols, uint64_t max_binding_bytes, uint32_t weight_dtype = LAMINA_F32) {
        layer_.inputs = &x_port_, layer_.n_inputs = 1;
        layer_.weights = weight_ports_.data(), layer_.n_weights = 2;
        layer_.outputs = &y_port_, layer_.n_outputs = 1;
        x_.rank = weights_[0].rank = 2, x_.dtype = LAMINA_F32, weights_[0].dtype = weight_dtype;
        x_.dim[0] = rows, x_.dim[1] = inner;
        weights_[0].dim[0] = cols, weights_[0].dim[1] = inner;
        device_.max_binding_bytes = max_binding_bytes, device_.binding_align = 256;
        device_.max_groups[0] = device_.max_groups[1] = 65535;
        call_.in = &x_, call_.weight = weights_.data(), call_.device = &device_;
        layer_.port_size = sizeof(lamina_port);
        call_.layer = &layer_, call_.tensor_size = sizeof(lamina_tensor);
        device_.subgroup = 8, device_.shared_bytes = 32 * 1024;
        host_.context = &notes_;
        host_.dispatch = [](const lamina_host *host, const lamina_dispatch *d) -> lamina_status {
            notes_of(host).dispatches.push_back(dispatch_of(d));
            return LAMINA_OK;
        };
        host_.scratch = [](const lamina_host *host, uint64_t bytes, lamina_ref *out) -> lamina_status {
            *out = {0, 0, LAMINA_SCRATCH, static_cast<uint32_t>(notes_of(host).scratch.size())};
            notes_of(host).scratch.push_back(bytes);
            return LAMINA_OK;
        };
        host_.extension = [](const lamina_host *, const char *) -> const void * { return &preparing; };
    }

    std::vector<Dispatch> plan(uint32_t variant = 0) {
        notes_ = {};
        const Call call(call_);
        Plan plan(call, variant, host_);
        plan_product(call, plan, numbers,
                     {.rows = x_.dim[0], .x = plan.in("x"), .weight = "weight", .bias = "bias", .y = plan.out("y")});
        return notes_.dispatches;
    }

    [[nodiscard]] const Notes &notes() const { return notes_; }
    void set_subgroup(uint32_t size) { device_.subgroup = size; }

  private:
    lamina_port x_port_ = input("x", "... K", ""), y_port_ = output("y", "... N", "");
    std::array<lamina_port, 2> weight_ports_{weight("weight", "N K", ""), optional(weight("bias", "N", ""))};
    lamina_layer layer_{};
    lamina_tensor x_{};
    std::array<lamina_tensor, 2> weights_{};
    lamina_device device_{};
    lamina_call call_{};
    lamina_host host_{};
    Notes notes_;
};

TEST_CASE("plan_product: a product that fits is one dispatch of whole bindings") {
    const auto emitted = Harness(10, 64, 30, 128u << 20).plan();
    REQUIRE(emitted.size() == 1);
    CHECK(emitted[0].rows == 10);
    CHECK(emitted[0].cols == 30);
    for (const lamina_ref &ref : emitted[0].bind) CHECK((ref.offset == 0 && ref.bytes == 0));
}

TEST_CASE("plan_product: windows of X and W cover every sum once, aligned and within the binding limit") {
    constexpr int64_t rows = 200, inner = 61, cols = 523;
    constexpr uint64_t limit = 140000;
    const uint32_t dtype = GENERATE(uint32_t{LAMINA_F32}, uint32_t{LAMINA_F16});
    const uint64_t weight_bytes = dtype == LAMINA_F32 ? 4 : 2;
    std::map<std::pair<uint64_t, uint64_t>, int> times; // each (row, column)
    const auto emitted = Harness(rows, inner, cols, limit, dtype).plan();
    CHECK(emitted.size() > 1);
    for (const Dispatch &e : emitted) {
        const lamina_ref &x = e.bind[0], &w = e.bind[1], &y = e.bind[4];
        const uint64_t first_row = x.offset / (inner * 4);
        CHECK(x.offset == first_row * inner * 4);
        CHECK(y.offset == first_row * cols * 4);
        CHECK(w.offset == e.first_col * inner * weight_bytes);
        for (const lamina_ref &ref : {x, w, y}) {
            CHECK(ref.offset % 256 == 0);
            CHECK(ref.bytes <= limit);
        }
        for (uint64_t r = first_row; r < first_row + e.rows; ++r)
            for (uint64_t c = e.first_col; c < e.first_col + e.cols; ++c) ++times[{r, c}];
    }
    CHECK(times.size() == rows * cols);
    for (const auto &[where, n] : times)
        if (n != 1) FAIL("row " << where.first << ", column " << where.second << " is computed " << n << " times");
}

TEST_CASE("plan_product: rows too long for 64 of them to be bound are refused, with their size") {
    Harness harness(200, 61, 523, 100000);
    REQUIRE_THROWS_AS(harness.plan(), Unsupported);
    try {
        harness.plan();
    } catch (const Unsupported &e) {
        CHECK(std::string(e.what()).find("523 values") != std::string::npos);
    }
}

TEST_CASE("plan_product: the kernel follows from the variant and the shape") {
    const auto kernel = [](int64_t rows, int64_t inner, uint32_t variant, uint32_t weight = LAMINA_F32) {
        return Harness(rows, inner, 30, 1 << 20, weight).plan(variant).at(0).kernel;
    };
    CHECK(kernel(10, 63, in_registers) == numbers.registers);
    CHECK(kernel(10, 64, in_registers) == numbers.registers_vec4);
    CHECK(kernel(10, 63, in_tiles) == numbers.tiled);
    CHECK(kernel(10, 64, in_tiles) == numbers.tiled_vec4);
    CHECK(kernel(8, 63, in_tiles) == numbers.few_rows);
    CHECK(kernel(8, 64, in_tiles) == numbers.few_rows_vec4);
    CHECK(kernel(8, 63, by_subgroup) == numbers.few_rows_subgroup);
    CHECK(kernel(8, 64, by_subgroup) == numbers.few_rows_subgroup_vec4);
    CHECK(kernel(10, 64, in_registers, LAMINA_Q8_0) == numbers.registers_blocks);
    CHECK(kernel(10, 64, in_tiles, LAMINA_Q8_0) == numbers.tiled_blocks);
    CHECK(kernel(8, 64, in_tiles, LAMINA_Q8_0) == numbers.few_rows_blocks);
    CHECK(kernel(8, 64, by_subgroup, LAMINA_Q8_0) == numbers.few_rows_subgroup_blocks);
    REQUIRE_THROWS_AS(kernel(9, 64, by_subgroup), Unsupported);
}

TEST_CASE("plan_product: large tiles are for more than 64 rows and columns") {
    const auto emitted = [](int64_t rows, int64_t cols) {
        return Harness(rows, 64, cols, 1 << 20).plan(in_large_tiles);
    };
    CHECK(emitted(65, 65).at(0).kernel == numbers.tiled_large_vec4);
    REQUIRE_THROWS_AS(emitted(64, 65), Unsupported);
    REQUIRE_THROWS_AS(emitted(65, 64), Unsupported);
}

TEST_CASE("plan_product: K is split into parts if a GPU would not be busy otherwise, and a second dispatch adds them") {
    struct Expected {
        int64_t rows, inner, cols;
        uint32_t kernel;
        uint32_t part, parts; // parts: 0 if it is not split
    };
    const Expected e =
        GENERATE(Expected{64, 1536, 576, numbers.tiled_vec4, 256, 6}, Expected{64, 515, 30, numbers.tiled, 512, 2},
                 Expected{64, 511, 30, 0, 0, 0}, Expected{1, 8192, 2048, numbers.few_rows_vec4, 4096, 2},
                 Expected{1, 8192, 512, numbers.few_rows_vec4, 1024, 8}, Expected{1, 1536, 576, 0, 0, 0},
                 Expected{512, 8192, 8192, 0, 0, 0});
    CAPTURE(e.rows, e.inner, e.cols);
    Harness harness(e.rows, e.inner, e.cols, 1 << 30);
    if (e.parts == 0) {
        REQUIRE_THROWS_AS(harness.plan(in_parts), Unsupported);
        return;
    }
    const auto emitted = harness.plan(in_parts);
    REQUIRE(emitted.size() == 2);
    CHECK(emitted[0].kernel == e.kernel);
    CHECK(emitted[0].part_inner == e.part);
    CHECK(emitted[1].kernel == numbers.join);
    CHECK(emitted[1].inner == e.parts);
    CHECK(emitted[0].bind[4].role == LAMINA_SCRATCH);
    CHECK(emitted[1].bind[0].role == LAMINA_SCRATCH);
    CHECK(emitted[1].bind[4].role == LAMINA_OUT);
    CHECK(harness.notes().scratch == std::vector{static_cast<uint64_t>(e.parts * e.rows * e.cols * 4)});
}

TEST_CASE("plan_product: a product that is split is written once, also if its matrices exceed the binding limit") {
    constexpr int64_t rows = 130, inner = 1024, cols = 90;
    std::vector<int> times(rows * cols); // the last two rows, which are few, are not split
    for (const Dispatch &e : Harness(rows, inner, cols, 300000).plan(in_parts)) {
        if (e.bind[4].role != LAMINA_OUT) continue; // sums of parts
        const auto first_row = static_cast<uint32_t>(e.bind[4].offset / (cols * 4));
        for (uint32_t r = first_row; r < first_row + e.rows; ++r)
            for (uint32_t c = e.first_col; c < e.first_col + e.cols; ++c) ++times.at(r * cols + c);
    }
    CHECK(times == std::vector<int>(rows * cols, 1));
}

TEST_CASE("plan_product: rows that are a multiple of 16 bytes are read in place, all others are packed once") {
    struct Expected {
        uint32_t dtype;
        int64_t inner;
        uint64_t packed; // bytes of 30 rows; 0: not packed
        int64_t with_zeros;
    };
    const Expected expected = GENERATE(Expected{LAMINA_F32, 64, 0, 64}, Expected{LAMINA_F32, 63, 30 * 64 * 4, 64},
                                       Expected{LAMINA_F16, 64, 0, 64}, Expected{LAMINA_BF16, 60, 30 * 64 * 2, 64},
                                       Expected{LAMINA_Q8_0, 64, 32 * 2 * 34, 64});
    Harness harness(10, expected.inner, 30, 1 << 20, expected.dtype);
    const auto emitted = harness.plan(packed);
    CAPTURE(expected.dtype, expected.inner);
    const Notes &notes = harness.notes();
    CHECK(notes.prepared == (expected.packed != 0 ? std::vector{expected.packed} : std::vector<uint64_t>{}));
    CHECK(notes.preparation.size() == notes.prepared.size());
    const bool blocks = expected.dtype == LAMINA_Q8_0;
    for (const Dispatch &e : notes.preparation) CHECK(e.kernel == (blocks ? numbers.pack : numbers.pad));
    CHECK(emitted.back().kernel == (blocks ? numbers.packed_blocks : numbers.packed));
    CHECK(emitted.back().inner == expected.with_zeros);
    CHECK(emitted.back().bind[1].role == (expected.packed != 0 ? LAMINA_PREPARED : LAMINA_WEIGHT));
    // X is padded with the same number of zeros in every run.
    const bool pads_x = expected.inner != expected.with_zeros;
    CHECK(emitted.size() == (pads_x ? 2 : 1));
    CHECK(notes.scratch == (pads_x ? std::vector<uint64_t>{10 * 64 * 4} : std::vector<uint64_t>{}));
}

TEST_CASE("plan_product: packed weights are within the binding limit, and cover every column once") {
    constexpr int64_t rows = 20, inner = 61, cols = 523;
    constexpr uint64_t limit = 100000;
    const bool blocks = GENERATE(false, true);
    Harness harness(rows, blocks ? 1024 : inner, cols, limit, blocks ? LAMINA_Q8_0 : LAMINA_F32);
    std::vector<int> times(cols);
    for (const Dispatch &e : harness.plan(packed)) {
        if (e.kernel == numbers.pad) continue;
        CHECK(e.bind[1].index < harness.notes().prepared.size());
        for (uint32_t c = e.first_col; c < e.first_col + e.cols; ++c) ++times.at(c);
    }
    CHECK(times == std::vector<int>(cols, 1));
    CHECK(harness.notes().prepared.size() > 1);
    for (const uint64_t bytes : harness.notes().prepared) CHECK(bytes <= limit);
    for (const Dispatch &e : harness.notes().preparation) CHECK(e.bind[0].bytes <= limit);
}

TEST_CASE("plan_product: weights that cannot be packed are refused with the reason") {
    const auto refusal = [](Harness &harness) -> std::string {
        try {
            (void)harness.plan(packed);
        } catch (const Unsupported &e) {
            return e.what();
        }
        return "";
    };
    Harness small_subgroups(10, 64, 30, 1 << 20);
    small_subgroups.set_subgroup(4);
    CHECK(refusal(small_subgroups) == "");
    small_subgroups.set_subgroup(2);
    CHECK(refusal(small_subgroups) == "it takes subgroups of at least 4");
    Harness long_rows(10, 1 << 12, 30, 100000, LAMINA_Q8_0);
    CHECK(refusal(long_rows) == "32 packed rows of 4096 values exceed the device's binding limit");
}

TEST_CASE("plan_product: register tiles have at most 16 rows, and their number is minimal") {
    for (int64_t rows = 1; rows < 200; ++rows) {
        const int64_t tile = lamina::plugin::detail::tile_rows(rows);
        CHECK(tile <= 16);
        CHECK(tile >= 1);
        CHECK(ceil_div(rows, tile) <= ceil_div(rows, 16));
    }
}

} // namespace
