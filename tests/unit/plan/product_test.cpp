// plan_product(): how a product is cut where the device's bindings are smaller than its matrices.
#include "catch.hpp"

#include <lamina/plugin/product.hpp>

#include <map>

namespace {
using namespace lamina::plugin;

constexpr ProductKernels kernels{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

struct Emitted {
    uint32_t kernel;
    std::vector<lamina_ref> bind;
    uint32_t rows, inner, cols, first_col, y_cols;
};

// A linear layer's contract, and a host that notes the dispatches.
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
        host_.context = &emitted_;
        host_.dispatch = [](const lamina_host *host, const lamina_dispatch *d) -> lamina_status {
            Emitted e{};
            e.kernel = d->kernel;
            e.bind.assign(d->bind, d->bind + d->n_bind);
            const auto *push = static_cast<const uint32_t *>(d->push);
            e.rows = push[0], e.inner = push[1], e.cols = push[2], e.first_col = push[3], e.y_cols = push[4];
            static_cast<std::vector<Emitted> *>(host->context)->push_back(e);
            return LAMINA_OK;
        };
    }

    std::vector<Emitted> plan(uint32_t variant = 0) {
        emitted_.clear();
        const Call call(call_);
        Plan plan(call, variant, host_);
        plan_product(call, plan, kernels,
                     {.rows = x_.dim[0], .x = plan.in("x"), .weight = "weight", .bias = "bias", .y = plan.out("y")});
        return emitted_;
    }

  private:
    lamina_port x_port_ = input("x", "... K", ""), y_port_ = output("y", "... N", "");
    std::array<lamina_port, 2> weight_ports_{weight("weight", "N K", ""), optional(weight("bias", "N", ""))};
    lamina_layer layer_{};
    lamina_tensor x_{};
    std::array<lamina_tensor, 2> weights_{};
    lamina_device device_{};
    lamina_call call_{};
    lamina_host host_{};
    std::vector<Emitted> emitted_;
};

TEST_CASE("plan_product: what fits is one dispatch of whole bindings") {
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
    for (const Emitted &e : emitted) {
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
    CHECK(kernel(10, 63, 0) == kernels.registers);
    CHECK(kernel(10, 64, 0) == kernels.registers_vec4);
    CHECK(kernel(10, 64, 1) == kernels.tiled);
    CHECK(kernel(8, 63, 1) == kernels.few_rows);
    CHECK(kernel(8, 64, 1) == kernels.few_rows_vec4);
    CHECK(kernel(8, 63, 2) == kernels.few_rows_subgroup);
    CHECK(kernel(8, 64, 2) == kernels.few_rows_subgroup_vec4);
    CHECK(kernel(10, 64, 0, LAMINA_Q8_0) == kernels.registers_blocks);
    CHECK(kernel(10, 64, 1, LAMINA_Q8_0) == kernels.tiled_blocks);
    CHECK(kernel(8, 64, 1, LAMINA_Q8_0) == kernels.few_rows_blocks);
    CHECK(kernel(8, 64, 2, LAMINA_Q8_0) == kernels.few_rows_subgroup_blocks);
    REQUIRE_THROWS_AS(kernel(9, 64, 2), Unsupported);
}

TEST_CASE("plan_product: register tiles are of at most 16 rows, and no more of them than of 16 rows each") {
    for (int64_t rows = 1; rows < 200; ++rows) {
        const int64_t tile = lamina::plugin::detail::tile_rows(rows);
        CHECK(tile <= 16);
        CHECK(tile >= 1);
        CHECK(ceil_div(rows, tile) <= ceil_div(rows, 16));
    }
}

} // namespace
