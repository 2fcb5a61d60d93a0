// How weights are passed to CPU kernels and references: as they are stored, or widened.
#include "../abi/test_layer.hpp"
#include "base/storage.hpp"
#include "catch.hpp"
#include "cpu/backend.hpp"
#include "cpu/weights.hpp"

#include <lamina/plugin/arranged.h>

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

// What the host gave the last kernel for its weight in an order of the kernel's own.
struct Arranged {
    const void *memory = nullptr;
    int filled = 0; // how often
} arranged;

void arrange(const lamina_host *host, uint64_t bytes) {
    const auto *extension = static_cast<const lamina_arranged *>(host->extension(host, LAMINA_ARRANGED));
    REQUIRE(extension != nullptr);
    const auto fill = [](void *context, void *memory) -> lamina_status {
        std::memset(memory, ++*static_cast<int *>(context), 1);
        return LAMINA_OK;
    };
    arranged.memory = extension->weight(host, 0, bytes, fill, &arranged.filled);
}

// A layer with one weight, and an executor whose kernel takes blocks as they are stored.
class Fixture {
  public:
    explicit Fixture(Tensor weight) : given_(weight) {
        kernel_saw = reference_saw = {}, arranged = {};
        made_.params.clear(), made_.states.clear();
        made_.inputs = {test::input("x", "N", "")}, made_.outputs = {test::output("y", "N", "")};
        made_.weights = {test::in_blocks(test::weight("weight", "K", ""))};
        made_.contract.reference = [](const lamina_call *call, const lamina_host *) -> lamina_status {
            reference_saw.look(call);
            return LAMINA_OK;
        };
        layer_ = made_.layer();
        kernel_.run = [](const lamina_call *call, const lamina_host *host) -> lamina_status {
            kernel_saw.look(call);
            arrange(host, kernel_saw.bytes.size());
            return kernel_hands_back ? LAMINA_UNSUPPORTED : LAMINA_OK;
        };
        kernel_.layer = "test_layer", kernel_.signature = "x: N; weight: K -> y: N";
        kernel_.stored_dtypes = LAMINA_Q8_0;
        descriptor_.id = "fast", descriptor_.kernels = &kernel_, descriptor_.n_kernels = 1;
        weights_.add("weight", model::Weight::of(std::move(weight)));
    }

    void run(int times = 1) {
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
        for (int i = 0; i < times; ++i) program->run();
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
    CHECK(kernel_saw.data == fixture.weight().bytes().data());
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

TEST_CASE("cpu: a kernel arranges a weight once, whenever it runs") {
    kernel_hands_back = false;
    Fixture fixture(ramp(DType::q8_0));
    fixture.run(3);
    CHECK(arranged.memory != nullptr);
    CHECK(arranged.filled == 1);
}

TEST_CASE("cpu: memory for arranged weights ends where there is no room, or where filling it fails") {
    model::Weights stored;
    for (const char *name : {"a", "b"}) stored.add(name, model::Weight::of(ramp(DType::q8_0)));
    cpu::Weights weights(stored, nullptr);
    const auto fill = [](void *memory) { return *static_cast<char *>(memory) = 1, true; };
    CHECK(weights.arranged("a", 34, fill) == nullptr);
    weights.give_room(60);
    CHECK(weights.arranged("a", 34, [](void *) { return false; }) == nullptr);
    const void *const a = weights.arranged("a", 34, fill);
    REQUIRE(a != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(a) % 64 == 0);
    CHECK(weights.arranged("b", 34, fill) == nullptr);
    CHECK(weights.arranged("a", 34, [](void *) { return false; }) == a);
    weights.remove("a");
    CHECK(weights.arranged("b", 34, fill) != nullptr);
}

TEST_CASE("cpu: a weight in f32 is read where the file is mapped, not copied") {
    kernel_hands_back = false;
    Fixture fixture(ramp(DType::f32));
    fixture.run();
    CHECK(kernel_saw.data == fixture.weight().bytes().data());
}

namespace {

// Two steps with a weight of their own each; their references say whether they got its values.
struct TwoSteps {
    TwoSteps() {
        made_.params.clear(), made_.states.clear();
        made_.inputs = {test::input("x", "N", "")}, made_.outputs = {test::output("y", "N", "")};
        made_.weights = {test::in_blocks(test::weight("weight", "K", ""))};
        made_.contract.reference = [](const lamina_call *call, const lamina_host *) -> lamina_status {
            reference_saw.look(call);
            *static_cast<float *>(call->out[0].data) = static_cast<const float *>(call->weight[0].data)[31];
            return LAMINA_OK;
        };
        layer_ = made_.layer();
        const TensorType type{DType::f32, {1}};
        plan_.graph = "test", plan_.inputs = {{"x", 0}}, plan_.outputs = {{"y1", 1}, {"y2", 2}};
        plan_.tensors = {{"x", type, plan::PlannedTensor::Kind::input, false},
                         {"y1", type, plan::PlannedTensor::Kind::activation, true},
                         {"y2", type, plan::PlannedTensor::Kind::activation, true}};
        for (const int32_t step : {0, 1}) {
            const std::string name = "weight" + std::to_string(step);
            const Tensor weight = ramp(step == 0 ? DType::bf16 : DType::f16);
            weights_.add(name, model::Weight::of(weight));
            plan_.tensors.push_back({name, weight.type(), plan::PlannedTensor::Kind::weight, false});
            abi::LayerCall call(layer_, {}, abi::CallTypes{{{"x", type}}, {{"weight", weight.type()}}, {}}, "the test");
            plan_.steps.push_back({name, std::move(call), {0}, {3 + step}, {1 + step}, {}});
        }
    }

    // The bytes of copies after a run, and the most at any time.
    cpu::WidenedBytes run(bool give_back) {
        cpu::WidenedBytes bytes;
        const auto backend = cpu::make_backend(nullptr, weights_, nullptr, &bytes);
        plan::ProgramOptions options;
        options.references.give_back = give_back, options.references.threads = 2;
        const auto program = backend->compile(plan_, options);
        program->write(0, std::vector<std::byte>(sizeof(float)));
        for (int again = 0; again < 2; ++again) program->run();
        for (const int32_t y : {1, 2}) {
            float value = 0;
            program->read(y, std::as_writable_bytes(std::span(&value, 1)));
            CHECK(value == 31);
        }
        return bytes;
    }

  private:
    test::TestLayer made_;
    abi::Layer layer_;
    model::Weights weights_;
    plan::GraphPlan plan_;
};

} // namespace

TEST_CASE("cpu: references that give back what they widen take the memory of one step, others that of all") {
    constexpr uint64_t of_a_step = 32 * sizeof(float);
    TwoSteps steps;
    CHECK(steps.run(true).most == of_a_step);
    CHECK(steps.run(false).most == 2 * of_a_step);
}

TEST_CASE("cpu: what is lent to a large step is gone when the step ends") {
    const Tensor large(TensorType{DType::f16, {int64_t{1} << 25}});
    model::Weights stored;
    for (const char *name : {"a", "b"}) stored.add(name, model::Weight::of(large));
    cpu::WidenedBytes bytes;
    cpu::Weights weights(stored, &bytes);
    for (const char *name : {"a", "b"}) {
        const cpu::Weights::Lent lent(weights, {name}, 2);
        CHECK(bytes.now == uint64_t{1} << 27);
    }
    CHECK(bytes.now == 0);
    CHECK(bytes.most == uint64_t{1} << 27);
}
