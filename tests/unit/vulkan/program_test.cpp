// Planned graphs on every Vulkan device of this machine, compared with the references, without validation messages.
#include "drivers.hpp"
#include "environment.hpp"
#include "model/safetensors.hpp"
#include "running_sum.hpp"

#include "places.hpp"
#include "vulkan/device.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

using namespace lamina;
using plan::PlannedTensor;

namespace {

// Builds a graph by hand, tensor by tensor and step by step.
class GraphWriter {
  public:
    plan::GraphPlan graph{.graph = "test", .tensors = {}, .steps = {}, .inputs = {}, .outputs = {}};

    int32_t add(const std::string &name, TensorType type, PlannedTensor::Kind kind) {
        graph.tensors.push_back({name, std::move(type), kind, false});
        return static_cast<int32_t>(graph.tensors.size() - 1);
    }
    int32_t input(const std::string &name, TensorType type) {
        return graph.inputs[name] = add(name, std::move(type), PlannedTensor::Kind::input);
    }
    void output(const std::string &name, int32_t tensor) {
        graph.outputs[name] = tensor;
        graph.tensors[static_cast<size_t>(tensor)].output = true;
    }
    // y = layer_norm(x); weight and bias are tensors, or none.
    int32_t layer_norm(const abi::Layer &layer, const std::string &name, int32_t x, int32_t weight, int32_t bias) {
        const auto type = [&](int32_t t) { return graph.tensors[static_cast<size_t>(t)].type; };
        abi::CallTypes types;
        types.in["x"] = type(x);
        if (weight != plan::none) types.weight["weight"] = type(weight);
        if (bias != plan::none) types.weight["bias"] = type(bias);
        abi::LayerCall call(layer, {}, types, "layer '" + name + "'");
        const int32_t y = add(name, type(x), PlannedTensor::Kind::activation);
        graph.steps.push_back({name, std::move(call), {x, plan::none}, {weight, bias}, {y}, {}});
        return y;
    }
    int32_t running_sum(const abi::Layer &layer, const std::string &name, int32_t x) {
        const TensorType type = graph.tensors[static_cast<size_t>(x)].type;
        abi::CallTypes types;
        types.in["x"] = types.state["sum"] = type;
        abi::LayerCall call(layer, {}, types, "layer '" + name + "'");
        const int32_t sum = add(name + ".sum", type, PlannedTensor::Kind::state);
        const int32_t y = add(name, type, PlannedTensor::Kind::activation);
        graph.steps.push_back({name, std::move(call), {x}, {}, {y}, {sum}});
        return y;
    }
};

plan::ProgramOptions poisoned(bool keep_all = false) {
    plan::ProgramOptions options;
    options.poison = plan::poison_word;
    options.keep_all = keep_all;
    return options;
}

plan::ProgramOptions with_variant(const std::string &variant) {
    plan::ProgramOptions options;
    options.variants = {variant};
    return options;
}

// Each usable device in turn, opened with validation and with its pipeline cache in a temporary folder.
void on_every_device(const std::function<void(vulkan::Device &)> &body) {
    const TemporaryFolder cache;
    test::set_variable("XDG_CACHE_HOME", cache.path().string());
    const auto instance = test::validated_instance();
    if (instance == nullptr) return;
    for (const uint32_t index : test::usable_devices(*instance)) {
        CAPTURE(instance->devices()[index].name);
        body(*instance->open(index, nullptr));
    }
    CHECK(test::messages_of(*instance) == "");
}

std::vector<float> random_values(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float &v : values) v = normal(random);
    return values;
}

std::span<const std::byte> bytes_of(const std::vector<float> &v) { return std::as_bytes(std::span(v)); }

std::vector<float> read(plan::Program &program, int32_t tensor) {
    std::vector<float> values(program.plan().tensors[static_cast<size_t>(tensor)].type.bytes() / sizeof(float));
    program.read(tensor, std::as_writable_bytes(std::span(values)));
    return values;
}

// Three norms in a row over (5, 37), with weights in all three dtypes, and the references' results.
struct Norms {
    static constexpr int64_t rows = 5, cols = 37;
    TemporaryFolder folder;
    std::shared_ptr<const abi::Registry> plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    GraphWriter writer;
    int32_t x, first, second, third;
    std::vector<float> values = random_values(rows * cols, 11);

    Norms() {
        const auto entry = [&](const char *name, DType dtype) {
            return writer.add(name, {dtype, {cols}}, PlannedTensor::Kind::weight);
        };
        const abi::Layer &norm = plugins->layer("layer_norm");
        x = writer.input("x", {DType::f32, {rows, cols}});
        first = writer.layer_norm(norm, "first", x, entry("f32", DType::f32), plan::none);
        second = writer.layer_norm(norm, "second", first, entry("f16", DType::f16), entry("bf16", DType::bf16));
        third = writer.layer_norm(norm, "third", second, plan::none, plan::none);
        writer.output("y", third);
    }

    // Weights of 0.5, 1.0 and 1.5 in turn, which all dtypes hold exactly.
    static float weight(size_t i) { return 0.5F * static_cast<float>(i % 3 + 1); }
    [[nodiscard]] model::Weights weights() const {
        std::map<std::string, Tensor, std::less<>> tensors;
        const auto half_bits = [](float v) -> uint16_t { return v == 0.5F ? 0x3800 : v == 1.0F ? 0x3c00 : 0x3e00; };
        const auto bfloat_bits = [](float v) -> uint16_t { return v == 0.5F ? 0x3f00 : v == 1.0F ? 0x3f80 : 0x3fc0; };
        Tensor f32({DType::f32, {cols}}), f16({DType::f16, {cols}}), bf16({DType::bf16, {cols}});
        for (size_t i = 0; i < cols; ++i) {
            f32.f32()[i] = weight(i);
            const uint16_t half = half_bits(weight(i)), bfloat = bfloat_bits(weight(i));
            std::memcpy(f16.bytes().data() + 2 * i, &half, 2);
            std::memcpy(bf16.bytes().data() + 2 * i, &bfloat, 2);
        }
        tensors = {{"f32", f32}, {"f16", f16}, {"bf16", bf16}};
        model::write_safetensors(folder.path() / "weights.safetensors", tensors);
        return model::open_safetensors(folder.path() / "weights.safetensors").weights;
    }

    // Tensor by tensor, as the references compute them.
    [[nodiscard]] std::map<int32_t, std::vector<float>> expected() const {
        std::vector<float> w(cols);
        for (size_t i = 0; i < w.size(); ++i) w[i] = weight(i);
        std::map<int32_t, std::vector<float>> result{{x, values}};
        for (const plan::Step &step : writer.graph.steps) {
            std::vector<float> in = result.at(step.in[0]), out(in.size());
            abi::LayerCall::Data data;
            data.in = {in.data(), nullptr};
            for (const int32_t t : step.weight) data.weight.push_back(t == plan::none ? nullptr : w.data());
            data.out = {out.data()};
            step.call.reference(data);
            result[step.out[0]] = out;
        }
        return result;
    }
};

void check_close(const std::vector<float> &found, const std::vector<float> &expected) {
    REQUIRE(found.size() == expected.size());
    float worst = 0;
    for (size_t i = 0; i < found.size(); ++i) { // a NaN makes `worst` NaN, and the check fails
        const float error = std::abs(found[i] - expected[i]);
        worst = error <= worst ? worst : error;
    }
    CHECK(worst <= 1e-4F);
}

} // namespace

TEST_CASE("program: a chain of layers equals the references, with weights of every dtype and ports left out") {
    const Norms norms;
    on_every_device([&](vulkan::Device &device) {
        const auto backend = device.backend(norms.weights());
        const auto program = backend->compile(norms.writer.graph, poisoned());
        program->write(norms.x, bytes_of(norms.values));
        program->run();
        const auto result = read(*program, norms.third);
        check_close(result, norms.expected().at(norms.third));
        CHECK(program->variant(0) == "baseline");

        program->run(); // replayed, bit for bit
        CHECK((read(*program, norms.third) == result));
        CHECK_THAT(message_of([&] { (void)read(*program, norms.first); }), matchers::contains("keep_all"));
    });
}

TEST_CASE("program: with keep_all every activation can be read") {
    const Norms norms;
    on_every_device([&](vulkan::Device &device) {
        const auto backend = device.backend(norms.weights());
        const auto program = backend->compile(norms.writer.graph, poisoned(true));
        program->write(norms.x, bytes_of(norms.values));
        program->run();
        for (const auto &[tensor, values] : norms.expected()) check_close(read(*program, tensor), values);
    });
}

TEST_CASE("program: a new input gives new results, and the old input the old ones again") {
    const Norms norms;
    on_every_device([&](vulkan::Device &device) {
        const auto backend = device.backend(norms.weights());
        const auto program = backend->compile(norms.writer.graph, {});
        const auto run = [&](const std::vector<float> &x) {
            program->write(norms.x, bytes_of(x));
            program->run();
            return read(*program, norms.third);
        };
        const auto first = run(norms.values);
        const auto second = run(random_values(norms.values.size(), 12));
        CHECK((first != second));
        CHECK((run(norms.values) == first));
    });
}

TEST_CASE("program: misuse is refused with what is wrong") {
    const Norms norms;
    on_every_device([&](vulkan::Device &device) {
        const auto backend = device.backend(norms.weights());
        const auto program = backend->compile(norms.writer.graph, {});
        CHECK_THAT(message_of([&] { program->run(); }),
                   matchers::contains("input 'x' of graph 'test' has not been given"));
        CHECK_THAT(message_of([&] { program->write(norms.x, bytes_of({1, 2})); }), matchers::contains("found 8"));
        CHECK_THAT(message_of([&] { program->write(norms.third, bytes_of(norms.values)); }),
                   matchers::contains("'third' is not an input"));
        CHECK_THAT(message_of([&] { (void)read(*program, norms.third); }), matchers::contains("has no value before"));
        const auto unknown = with_variant("fastest");
        CHECK_THAT(message_of([&] { (void)backend->compile(norms.writer.graph, unknown); }),
                   matchers::contains("no variant 'fastest'; it has baseline"));
    });
}

TEST_CASE("program: a weight that the file lacks is refused") {
    const Norms norms;
    on_every_device([&](vulkan::Device &device) {
        const auto backend = device.backend({});
        CHECK_THAT(message_of([&] { (void)backend->compile(norms.writer.graph, {}); }),
                   matchers::contains("has no tensor"));
    });
}

TEST_CASE("program: I32 inputs outside the range of their contract are refused before anything runs") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    if (!plugins->layers().contains("embedding")) return;
    GraphWriter writer;
    const int32_t ids = writer.input("ids", {DType::i32, {1, 3}});
    const int32_t table = writer.add("table", {DType::f32, {10, 4}}, PlannedTensor::Kind::weight);
    abi::CallTypes types;
    types.in["ids"] = writer.graph.tensors[0].type;
    types.weight["table"] = writer.graph.tensors[1].type;
    abi::LayerCall call(plugins->layer("embedding"), {}, types, "layer 'embed'");
    const int32_t y = writer.add("embed", call.types(abi::PortList::out)[0], PlannedTensor::Kind::activation);
    writer.graph.steps.push_back({"embed", std::move(call), {ids, plan::none}, {table}, {y}, {}});
    writer.output("y", y);

    const TemporaryFolder folder;
    const auto file = folder.path() / "weights.safetensors";
    model::write_safetensors(file, {{"table", Tensor::of({10, 4}, random_values(40, 3))}});
    on_every_device([&](vulkan::Device &device) {
        const auto program = device.backend(model::open_safetensors(file).weights)->compile(writer.graph, {});
        const std::vector<int32_t> bad{0, 10, 1};
        CHECK_THAT(message_of([&] { program->write(ids, std::as_bytes(std::span(bad))); }),
                   matchers::contains("from 0 to 9"));
    });
}

TEST_CASE("program: scratch, constants and states keep their contents across dependent dispatches") {
    const abi::Layer layer = test::running_sum();
    constexpr int64_t n = 1000;
    GraphWriter writer;
    const int32_t x = writer.input("x", {DType::f32, {n}});
    const int32_t y = writer.running_sum(layer, "sum", x);
    writer.output("y", y);
    on_every_device([&](vulkan::Device &device) {
        const auto backend = device.backend({});
        const std::vector<float> ones(n, 1.0F);
        const auto expect = [&](plan::Program &program, float runs) {
            program.write(x, bytes_of(ones));
            program.run();
            std::vector<float> expected(n);
            for (size_t i = 0; i < expected.size(); ++i) expected[i] = runs * static_cast<float>(i % 4 + 1);
            CHECK((read(program, y) == expected));
        };
        const auto program = backend->compile(writer.graph, poisoned());
        expect(*program, 1); // states begin as zeros and are not poisoned
        expect(*program, 2);
        const auto other = backend->compile(writer.graph, with_variant("same"));
        CHECK(other->variant(0) == "same");
        expect(*other, 3); // programs of a backend share their states
        expect(*device.backend({})->compile(writer.graph, {}), 1);

        const auto impossible = with_variant("impossible");
        CHECK_THAT(message_of([&] { (void)backend->compile(writer.graph, impossible); }),
                   matchers::contains("does not fit"));
    });
}

TEST_CASE("program: sequences move as they are told, in more ways than are kept recorded") {
    constexpr int64_t n = 80; // 6320 pairs of two sequences
    const abi::Layer layer = test::running_sum();
    GraphWriter writer;
    const int32_t x = writer.input("x", {DType::f32, {n}});
    const int32_t y = writer.running_sum(layer, "sum", x);
    writer.output("y", y);
    on_every_device([&](vulkan::Device &device) {
        const auto program = device.backend(model::Weights())->compile(writer.graph, {});
        std::vector<float> in(n), sum(n);
        for (int32_t from = 0; from < n; ++from) {
            for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
            program->write(x, bytes_of(in));
            program->run(std::vector<int32_t>(n, from)); // all go on from this one
            const float before = sum[static_cast<size_t>(from)];
            for (size_t i = 0; i < sum.size(); ++i) sum[i] = before + in[i] * static_cast<float>(i % 4 + 1);
            REQUIRE(read(*program, y) == sum);
        }
    });
}

TEST_CASE("program: a state outlives its programs until another size of it is asked for") {
    const abi::Layer layer = test::running_sum();
    const auto summing = [&](int64_t n) {
        GraphWriter writer;
        writer.output("y", writer.running_sum(layer, "sum", writer.input("x", {DType::f32, {n}})));
        return writer.graph;
    };
    on_every_device([&](vulkan::Device &device) {
        const auto backend = device.backend({});
        const auto compiled = [&](int64_t n) { return backend->compile(summing(n), {}); };
        const auto runs = [](plan::Program &program) { // since the state was zeros
            const plan::GraphPlan &graph = program.plan();
            const auto x = graph.inputs.at("x");
            program.write(x,
                          bytes_of(std::vector<float>(graph.tensors[static_cast<size_t>(x)].type.bytes() / 4, 1.0F)));
            program.run();
            return read(program, graph.outputs.at("y")).front();
        };
        CHECK(runs(*compiled(100)) == 1);
        CHECK(runs(*compiled(100)) == 2);
        CHECK(runs(*compiled(200)) == 1);
        CHECK(runs(*compiled(100)) == 1); // a state that nobody held was dropped
        const auto held = compiled(100);
        CHECK(runs(*held) == 2);
        CHECK(runs(*compiled(200)) == 1);
        CHECK(runs(*compiled(100)) == 3);
        CHECK(runs(*held) == 4);
    });
}

TEST_CASE("program: tensors that share memory do not overwrite each other while they live") {
    const abi::Layer layer = test::running_sum();
    GraphWriter writer;
    const int32_t x = writer.input("x", {DType::f32, {333}});
    int32_t last = x;
    for (int i = 0; i < 20; ++i) last = writer.running_sum(layer, "sum." + std::to_string(i), last);
    writer.output("y", last);
    on_every_device([&](vulkan::Device &device) {
        const auto program = device.backend({})->compile(writer.graph, poisoned());
        program->write(x, bytes_of(std::vector<float>(333, 1.0F)));
        program->run();
        std::vector<float> expected(333);
        for (size_t i = 0; i < expected.size(); ++i) expected[i] = std::pow(static_cast<float>(i % 4 + 1), 20.0F);
        const auto found = read(*program, last);
        for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] / expected[i] - 1) < 1e-5F);
    });
}

TEST_CASE("program: several submissions give the same results as one") {
    const abi::Layer layer = test::running_sum();
    constexpr int64_t n = 4'000'000; // so large that every dispatch is a separate submission
    GraphWriter writer;
    const int32_t x = writer.input("x", {DType::f32, {n}});
    const int32_t first = writer.running_sum(layer, "first", x), second = writer.running_sum(layer, "second", first);
    writer.output("y", second);
    on_every_device([&](vulkan::Device &device) {
        const auto program = device.backend({})->compile(writer.graph, poisoned());
        program->write(x, bytes_of(std::vector<float>(n, 1.0F)));
        program->run();
        const auto found = read(*program, second);
        size_t wrong = 0;
        for (size_t i = 0; i < found.size(); ++i)
            wrong += found[i] == static_cast<float>((i % 4 + 1) * (i % 4 + 1)) ? 0 : 1;
        CHECK(wrong == 0);
    });
}

TEST_CASE("program: a graph without steps returns its inputs") {
    GraphWriter writer;
    const int32_t x = writer.input("x", {DType::f32, {3}});
    writer.output("y", x);
    on_every_device([&](vulkan::Device &device) {
        const auto program = device.backend({})->compile(writer.graph, {});
        program->write(x, bytes_of({1, 2, 3}));
        program->run();
        CHECK((read(*program, x) == std::vector<float>{1, 2, 3}));
    });
}

TEST_CASE("program: a graph that does not fit the device is refused with its biggest tensors") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    on_every_device([&](vulkan::Device &device) {
        const TensorType large{DType::f32, {1 << 15, 1 << 10}}; // 128 MiB
        GraphWriter writer;
        int32_t last = writer.input("x", large);
        for (uint64_t bytes = 0; bytes < 2 * device.info().memory_bytes; bytes += large.bytes())
            last = writer.layer_norm(plugins->layer("layer_norm"), "norm", last, plan::none, plan::none);
        writer.output("y", last);
        const auto backend = device.backend({});
        try {
            (void)backend->compile(writer.graph, poisoned(true));
            FAIL("it fits");
        } catch (const Error &e) {
            CHECK(e.code() == ErrorCode::memory);
            CHECK_THAT(e.what(), matchers::contains("the tensors of graph 'test' need"));
            CHECK_THAT(e.what(), matchers::contains("Biggest: 'x' (128 MiB), 'norm' (128 MiB)"));
        }
        (void)backend->compile(writer.graph, {}); // with reused memory, two of them are enough
    });
}
