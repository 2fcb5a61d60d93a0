// How a product is divided for cooperative matrices, on devices with different shapes.
#include "catch.hpp"

#include <lamina/plugin/product.hpp>

#include <array>
#include <vector>

namespace {
using namespace lamina::plugin;

lamina_device device_with(const std::vector<lamina_matrix_shape> &shapes, uint32_t subgroup) {
    lamina_device device{};
    device.matrices = shapes.data(), device.n_matrices = static_cast<uint32_t>(shapes.size());
    device.matrix_size = sizeof(lamina_matrix_shape);
    device.subgroup = subgroup;
    device.max_invocations = device.max_local[0] = 1024;
    device.shared_bytes = 32768;
    return device;
}

constexpr lamina_matrix_shape square{16, 16, 16, LAMINA_F16, LAMINA_F32}, wide{8, 16, 16, LAMINA_F16, LAMINA_F32},
    small{8, 8, 8, LAMINA_F16, LAMINA_F32}, half_sums{16, 16, 32, LAMINA_F16, LAMINA_F16},
    tall{48, 16, 16, LAMINA_F16, LAMINA_F32};

std::string refusal_on(const lamina_device &device) {
    try {
        (void)MatrixTiles(device, 4);
    } catch (const Unsupported &e) {
        return e.what();
    }
    return "";
}

TEST_CASE("the largest matrices that divide a tile and sum in f32 are used") {
    const std::vector<lamina_matrix_shape> shapes{small, half_sums, square, tall, wide};
    const lamina_matrix_shape taken = matrix_shape(device_with(shapes, 32), 64, 64, 32);
    CHECK(taken.m == 16);
    CHECK(taken.k == 16);
    CHECK(taken.acc_dtype == LAMINA_F32);
    CHECK(matrix_shape(device_with(shapes, 32), 8, 8, 8).m == 8);
}

TEST_CASE("a device without such matrices is refused") {
    const std::vector<lamina_matrix_shape> shapes{half_sums, tall};
    CHECK_THAT(refusal_on(device_with(shapes, 32)), matchers::contains("no cooperative matrices of f16"));
    CHECK_THAT(refusal_on(device_with({}, 32)), matchers::contains("no cooperative matrices of f16"));
}

TEST_CASE("a workgroup has four subgroups that multiply, and small ones beside them that help to load") {
    const auto workgroup = [](uint32_t subgroup, uint32_t halves) {
        return MatrixTiles(device_with({square}, subgroup), halves).workgroup;
    };
    for (const uint32_t halves : {2u, 3u, 4u}) {
        CHECK(workgroup(8, halves) == 128);
        CHECK(workgroup(32, halves) == 4 * 32);
        CHECK(workgroup(64, halves) == 4 * 64);
    }
    CHECK(workgroup(128, 3) == 4 * 128);
    CHECK_THAT(refusal_on(device_with({square}, 128)), matchers::contains("up to 64 invocations, found 128"));
}

TEST_CASE("more values along K are in shared memory if there are fewer halves of each") {
    CHECK(MatrixTiles(device_with({square}, 32), 2).depth == 64);
    CHECK(MatrixTiles(device_with({square}, 32), 3).depth == 64);
    CHECK(MatrixTiles(device_with({square}, 32), 4).depth == 32);
}

TEST_CASE("a device without room for the workgroup is refused with the requirements") {
    const std::vector<lamina_matrix_shape> shapes{wide};
    lamina_device device = device_with(shapes, 32);
    CHECK(refusal_on(device).empty());
    SECTION("shared memory") { device.shared_bytes = 16384; }
    SECTION("invocations") { device.max_invocations = 64; }
    SECTION("invocations along an axis") { device.max_local[0] = 64; }
    CHECK_THAT(refusal_on(device), matchers::contains("20480 bytes of shared memory and 128 invocations"));
}

constexpr ProductKernels kernels{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};

// The kernels that a product's plan dispatches on a host that provides scratch memory and, optionally, preparation.
struct Dispatches {
    std::vector<uint32_t> run, prepared;
    bool prepares = true;

    void plan(int64_t rows, int64_t inner, int64_t cols, uint32_t weight_dtype, uint32_t variant = by_matrices) {
        const std::vector<lamina_matrix_shape> shapes{square};
        lamina_device device = device_with(shapes, 32);
        device.max_binding_bytes = 1 << 27, device.binding_align = 256;
        device.max_groups[0] = device.max_groups[1] = 65535;
        const lamina_port x_port = input("x", "... K", ""), y_port = output("y", "... N", "");
        const std::array ports{weight("weight", "N K", ""), optional(weight("bias", "N", ""))};
        lamina_layer layer{};
        layer.inputs = &x_port, layer.weights = ports.data(), layer.outputs = &y_port;
        layer.n_inputs = layer.n_outputs = 1, layer.n_weights = 2;
        layer.port_size = sizeof(lamina_port);
        const std::array weights{lamina_tensor{nullptr, {cols, inner}, weight_dtype, 2, 0, 0}, lamina_tensor{}};
        lamina_call call{};
        call.layer = &layer, call.device = &device;
        call.weight = weights.data(), call.tensor_size = sizeof(lamina_tensor);
        const lamina_host host = make_host();
        const Call seen(call);
        Plan plan(seen, variant, host);
        plan_product(seen, plan, kernels,
                     {.rows = rows, .x = plan.in("x"), .weight = "weight", .bias = "bias", .y = plan.out("y")});
    }

  private:
    lamina_host make_host() {
        static const lamina_prepare prepare{sizeof prepare,
                                            [](const lamina_host *, uint64_t, lamina_ref *) { return lamina_status{}; },
                                            [](const lamina_host *host, const lamina_dispatch *d) {
                                                of(host).prepared.push_back(d->kernel);
                                                return lamina_status{};
                                            }};
        lamina_host host{};
        host.context = this;
        host.scratch = [](const lamina_host *, uint64_t, lamina_ref *) { return lamina_status{}; };
        host.dispatch = [](const lamina_host *h, const lamina_dispatch *d) {
            of(h).run.push_back(d->kernel);
            return lamina_status{};
        };
        host.extension = [](const lamina_host *h, const char *) -> const void * {
            return of(h).prepares ? &prepare : nullptr;
        };
        return host;
    }
    static Dispatches &of(const lamina_host *host) { return *static_cast<Dispatches *>(host->context); }
};

TEST_CASE("the scales of weights are prepared once a session, and X is split in every run") {
    Dispatches made;
    SECTION("rows of a multiple of four values") {
        made.plan(9, 64, 30, LAMINA_F32);
        CHECK(made.prepared == std::vector{kernels.scales});
        CHECK(made.run == std::vector{kernels.halves, kernels.matrix_vec4});
    }
    SECTION("other rows") {
        made.plan(9, 63, 30, LAMINA_F16);
        CHECK(made.prepared == std::vector{kernels.scales});
        CHECK(made.run == std::vector{kernels.halves, kernels.matrix});
    }
    SECTION("weights in blocks") {
        made.plan(9, 64, 30, LAMINA_Q8_0);
        CHECK(made.prepared == std::vector{kernels.scales_blocks});
        CHECK(made.run == std::vector{kernels.halves, kernels.matrix_blocks});
    }
}

TEST_CASE("few rows, and hosts without preparation, use other variants") {
    Dispatches made;
    CHECK_THROWS_AS(made.plan(8, 64, 30, LAMINA_F32), Unsupported);
    made.prepares = false;
    CHECK_THROWS_AS(made.plan(9, 64, 30, LAMINA_F32), Unsupported);
}

} // namespace
