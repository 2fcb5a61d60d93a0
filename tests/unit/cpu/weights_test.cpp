// How weights are passed to CPU kernels and references: as they are stored, or widened.
#include "../abi/test_layer.hpp"
#include "base/storage.hpp"
#include "catch.hpp"
#include "cpu/backend.hpp"

#include <algorithm>
#include <cstring>

using namespace lamina;

namespace {

// The weight that the last kernel and the last reference received.
struct Seen {
    const void *data = nullptr;
    uint32_t dtype = 0;
    std::vector<std::byte> bytes;

    void look(const lamina_call *call) {
        const lamina_tensor &weight = call->weight[0];
        data = weight.data, dtype = weight.dtype;
        const auto size = static_cast<size_t>(plugin::storage_type(dtype).row_bytes(weight.dim[0]));
        bytes.resize(size);
        std::memcpy(bytes.data(), data, size);
    }
};
Seen kernel_saw, reference_saw;
bool kernel_hands_back = false;

// A layer with one weight, and an executor whose kernel takes blocks as they are stored.
class Fixture {
  public:
    explicit Fixture(Tensor weight) : given_(weight) {
        kernel_saw = reference_saw = {};
        made_.params.clear(), made_.states.clear();
        made_.inputs = {test::input("x", "N", "")}, made_.outputs = {test::output("y", "N", "")};
        made_.weights = {test::in_blocks(test::weight("weight", "K", ""))};
        made_.contract.reference = [](const lamina_call *call, const lamina_host *) -> lamina_status {
            reference_saw.look(call);
            return LAMINA_OK;
        };
        layer_ = made_.layer();
        kernel_.run = [](const lamina_call *call, const lamina_host *) -> lamina_status {
            kernel_saw.look(call);
            return kernel_hands_back ? LAMINA_UNSUPPORTED : LAMINA_OK;
        };
        kernel_.layer = "test_layer", kernel_.signature = "x: N; weight: K -> y: N";
        kernel_.stored_dtypes = LAMINA_Q8_0;
        descriptor_.id = "fast", descriptor_.kernels = &kernel_, descriptor_.n_kernels = 1;
        weights_.add("weight", model::Weight::of(std::move(weight)));
    }

    void run() {
        const TensorType type{DType::f32, {5}}, weight = given_.type();
        abi::LayerCall call(layer_, {}, abi::CallTypes{{{"x", type}}, {{"weight", weight}}, {}}, "the test");
        plan::GraphPlan plan{.graph = "test", .tensors = {}, .steps = {}, .inputs = {{"x", 0}}, .outputs = {{"y", 1}}};
        plan.tensors = {{"x", type, plan::PlannedTensor::Kind::input, false},
                        {"y", type, plan::PlannedTensor::Kind::activation, true},
                        {"weight", weight, plan::PlannedTensor::Kind::weight, false}};
        plan.steps.push_back({"step", std::move(call), {0}, {2}, {1}, {}});
        const abi::Executor executor{{std::shared_ptr<void>(), &descriptor_}, "lamina_fast.so", 0};
        const auto program = cpu::make_backend(nullptr, weights_, &executor)->compile(std::move(plan), {});
        program->write(0, std::vector<std::byte>(type.bytes()));
        program->run();
    }

    [[nodiscard]] const Tensor &given() const { return given_; }
    [[nodiscard]] const model::Weight &weight() const { return weights_.at("weight"); }

  private:
    Tensor given_;
    test::TestLayer made_;
    abi::Layer layer_;
    lamina_cpu_kernel kernel_{};
    lamina_executor descriptor_{};
    model::Weights weights_;
};

Tensor ramp(DType dtype) {
    Tensor wide({DType::f32, {32}});
    for (size_t i = 0; i < 32; ++i) wide.f32()[i] = static_cast<float>(i);
    return narrowed(wide, dtype);
}

} // namespace

TEST_CASE("cpu: a kernel that takes a dtype as it is stored is given the file's own bytes") {
    kernel_hands_back = false;
    Fixture fixture(ramp(DType::q8_0));
    fixture.run();
    CHECK(kernel_saw.dtype == LAMINA_Q8_0);
    CHECK(kernel_saw.data == fixture.weight().bytes.data());
    CHECK(reference_saw.data == nullptr);
}

TEST_CASE("cpu: other dtypes are widened for the kernel, and all dtypes for the reference that replaces it") {
    kernel_hands_back = true;
    for (const DType dtype : {DType::q8_0, DType::f16}) {
        Fixture fixture(ramp(dtype));
        fixture.run();
        const Tensor wide = widened(fixture.given());
        CHECK(kernel_saw.dtype == static_cast<uint32_t>(dtype == DType::f16 ? DType::f32 : dtype));
        CHECK(reference_saw.dtype == LAMINA_F32);
        CHECK(std::ranges::equal(reference_saw.bytes, wide.bytes()));
    }
}

TEST_CASE("cpu: a weight in f32 is read where the file is mapped, not copied") {
    kernel_hands_back = false;
    Fixture fixture(ramp(DType::f32));
    fixture.run();
    CHECK(kernel_saw.data == fixture.weight().bytes.data());
}
