// Plans that break their contract are refused. The layer is layer_norm with its own kernel and a plan made by the test.
#include "plan/layer_plan.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <lamina/plugin.hpp>
#include <lamina/plugin/prepare.h>

#include <limits>

using namespace lamina;
using namespace lamina::plan;

namespace {

// The only dispatch of layer_norm, for tests to change: x, weight, bias, residual, y; 12 bytes; constants 0 and 1 of
// three.
struct Emitted {
    std::vector<lamina_ref> bind{{0, 0, LAMINA_IN, 0},
                                 {0, 0, LAMINA_WEIGHT, 0},
                                 {0, 0, LAMINA_WEIGHT, 1},
                                 {0, 0, LAMINA_IN, 1},
                                 {0, 0, LAMINA_OUT, 0}};
    std::vector<lamina_spec> spec{{0, LAMINA_F32}, {1, 0}};
    std::array<uint32_t, 3> push{6, 37, 0};
    lamina_dispatch dispatch{};
    uint64_t scratch = 0, prepared = 0;
    size_t times = 1; // that it is dispatched
    bool null_lists = false, null_dispatch = false, null_ref = false;
    std::vector<lamina_ref> prepare{}; // bindings of a dispatch in the preparation; empty: none
    std::string constant;
    lamina_status status = LAMINA_OK;
};

Emitted emitted; // by plan() below, which the C ABI calls

lamina_status plan_emitted(const lamina_call *, uint32_t, const lamina_host *host) {
    lamina_ref ref{};
    if (emitted.null_ref) (void)host->scratch(host, 16, nullptr);
    if (emitted.null_dispatch) (void)host->dispatch(host, nullptr);
    if (emitted.scratch != 0 && host->scratch(host, emitted.scratch, &ref) != LAMINA_OK) return LAMINA_INTERNAL;
    if (!emitted.constant.empty() &&
        host->constant(host, emitted.constant.data(), emitted.constant.size(), &ref) != LAMINA_OK)
        return LAMINA_INTERNAL;
    const auto *prepare = static_cast<const lamina_prepare *>(host->extension(host, LAMINA_PREPARE));
    if (emitted.prepared != 0 && prepare->memory(host, emitted.prepared, &ref) != LAMINA_OK) return LAMINA_INTERNAL;
    if (!emitted.prepare.empty()) {
        lamina_dispatch d = emitted.dispatch;
        d.bind = emitted.prepare.data(), d.n_bind = static_cast<uint32_t>(emitted.prepare.size());
        d.spec = emitted.spec.data(), d.n_spec = static_cast<uint32_t>(emitted.spec.size());
        d.push = emitted.push.data();
        (void)prepare->dispatch(host, &d);
    }
    if (emitted.dispatch.groups[0] != std::numeric_limits<uint32_t>::max()) {
        lamina_dispatch d = emitted.dispatch;
        d.bind = emitted.bind.data(), d.n_bind = static_cast<uint32_t>(emitted.bind.size());
        d.spec = emitted.spec.data(), d.n_spec = static_cast<uint32_t>(emitted.spec.size());
        d.push = emitted.push.data();
        if (emitted.null_lists) d.bind = nullptr, d.spec = nullptr, d.push = nullptr;
        for (size_t i = 0; i < emitted.times; ++i)
            (void)host->dispatch(host, &d); // a plugin that ignores the error: the host must still refuse
    }
    return emitted.status;
}

class BadPlan {
  public:
    BadPlan() : registry_(abi::Registry::discover({LAMINA_PLUGIN_DIR})), layer_(registry_->layer("layer_norm")) {
        contract_ = *layer_.contract;
        contract_.plan = plan_emitted;
        layer_.contract = &contract_;
        device.struct_size = sizeof device;
        device.max_binding_bytes = 128u << 20u, device.binding_align = 256;
        device.max_invocations = 256, device.shared_bytes = 16384;
        for (int axis = 0; axis < 3; ++axis) device.max_local[axis] = 256, device.max_groups[axis] = 65535;
        types.in["x"] = {DType::f32, {6, 37}};
        types.weight["weight"] = {DType::f32, {37}};
        emitted = {};
        emitted.dispatch.struct_size = sizeof(lamina_dispatch);
        emitted.dispatch.groups[0] = 6, emitted.dispatch.groups[1] = emitted.dispatch.groups[2] = 1;
        emitted.dispatch.push_bytes = 12;
    }

    std::optional<LayerPlan> plan() {
        const abi::LayerCall call(layer_, {}, types, "layer 'n'");
        return plan_layer(call, Kernels(layer_), 0, device, refused);
    }
    // As if the build's tools could not compile layer_norm.comp.
    void leave_out_kernel() {
        kernels_.assign(contract_.kernels, contract_.kernels + contract_.n_kernels);
        kernels_[0].spirv = nullptr, kernels_[0].words = 0;
        contract_.kernels = kernels_.data();
    }
    std::string refusal() {
        return message_of([&] { (void)plan(); });
    }

    lamina_device device{};
    abi::CallTypes types;
    Refusal refused;

  private:
    std::shared_ptr<const abi::Registry> registry_;
    abi::Layer layer_;
    lamina_layer contract_{};
    std::vector<lamina_kernel> kernels_;
};

} // namespace

TEST_CASE("reflection finds a kernel's bindings, constants, push size and workgroup size") {
    const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const KernelInfo kernel = Kernels(registry->layer("layer_norm"))[0];
    REQUIRE(kernel.bindings.size() == 5);
    for (size_t i = 0; i < 5; ++i) {
        CHECK(kernel.bindings[i].reads == (i < 4));
        CHECK(kernel.bindings[i].writes == (i == 4));
    }
    CHECK(kernel.push_bytes == 12);
    CHECK(kernel.specs.size() == 3);
    CHECK(kernel.local == std::array<uint32_t, 3>{64, 1, 1});
    std::string why_not;
    CHECK(kernel.shared.bytes({}, why_not) == 2 * 64 * 4);
    CHECK(kernel.features == 0);
}

namespace {

// The kernel with the type of a 16 x 16 matrix declared before its first function, as compilers write it.
std::vector<uint32_t> with_matrix_type(const lamina_kernel &kernel) {
    constexpr uint32_t type_float = 22, constant = 43, function = 54, matrix_type = 4456;
    std::vector<uint32_t> words(kernel.spirv, kernel.spirv + kernel.words);
    uint32_t float_id = 0, number_id = 0;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16u) {
        const uint32_t opcode = words[at] & 0xffffu;
        if (opcode == type_float) float_id = words[at + 1];
        if (opcode == constant) number_id = words[at + 2];
        if (opcode != function) continue;
        const uint32_t id = words[3]++; // the first free one
        const std::array<uint32_t, 7> type{
            7u << 16u | matrix_type, id, float_id, number_id, number_id, number_id, number_id};
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), type.begin(), type.end());
        break;
    }
    return words;
}

} // namespace

TEST_CASE("reflection refuses what is not SPIR-V, and SPIR-V without an entry point") {
    const auto refusal = [](const std::array<uint32_t, 5> &words) {
        return message_of([&] { (void)reflect({"x", words.data(), words.size()}, "plugin.so: kernel 'x'"); });
    };
    CHECK(refusal({1, 2, 3, 4, 5}) == "plugin.so: kernel 'x': it is not SPIR-V");
    CHECK_THAT(refusal({0x07230203, 0x00010300, 0, 1, 0}), matchers::contains("plugin.so: kernel 'x': "));
}

TEST_CASE("reflection refuses a kernel that reads or writes a buffer although it declares otherwise") {
    const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const lamina_kernel &kernel = registry->layer("layer_norm").contract->kernels[0];
    // With one declaration in place of another, in all buffers that have it.
    const auto refusal = [&](uint32_t has, uint32_t gets) {
        constexpr uint32_t member_decorate = 72, of_member = 3;
        std::vector<uint32_t> words(kernel.spirv, kernel.spirv + kernel.words);
        for (size_t at = 5; at < words.size(); at += words[at] >> 16u)
            if ((words[at] & 0xffffu) == member_decorate && words[at + of_member] == has) words[at + of_member] = gets;
        return message_of([&] { (void)reflect({kernel.name, words.data(), words.size()}, "a kernel"); });
    };
    constexpr uint32_t non_writable = 24, non_readable = 25;
    CHECK_THAT(refusal(non_writable, non_readable), matchers::contains("a kernel: it reads the buffer '") &&
                                                        matchers::contains("', which it declares writeonly"));
    CHECK_THAT(refusal(non_readable, non_writable), matchers::contains("a kernel: it writes the buffer '") &&
                                                        matchers::contains("', which it declares readonly"));
}

TEST_CASE("reflection works for cooperative matrices with any version of SPIRV-Cross") {
    const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const lamina_kernel &plain = registry->layer("layer_norm").contract->kernels[0];
    const std::vector<uint32_t> words = with_matrix_type(plain);
    REQUIRE(words.size() == plain.words + 7);
    const KernelInfo info = reflect({plain.name, words.data(), words.size()}, "a kernel");
    const KernelInfo expected = reflect(plain, "a kernel");
    CHECK(info.bindings.size() == expected.bindings.size());
    CHECK(info.specs.size() == expected.specs.size());
}

TEST_CASE("a sound plan is kept with every binding resolved") {
    BadPlan test;
    emitted.scratch = 100;
    emitted.constant = "seven b";
    const auto plan = test.plan();
    REQUIRE(plan.has_value());
    CHECK(plan->scratch == std::vector<uint64_t>{112});
    REQUIRE(plan->constants.size() == 1);
    CHECK(plan->constants[0].size() == 16);
    REQUIRE(plan->dispatches.size() == 1);
    const auto &bindings = plan->dispatches[0].bindings;
    REQUIRE(bindings.size() == 5);
    CHECK(bindings[0].bytes == 6 * 37 * 4 + 8); // padded to 16
    CHECK(bindings[2].bytes == 0);              // the bias is left out
    CHECK(bindings[4].writes);
}

TEST_CASE("a plan that breaks a rule is refused, with the layer, the variant, the dispatch and the kernel named") {
    BadPlan test;
    const auto refused_for = [&](const char *why) {
        const std::string message = test.refusal();
        CHECK_THAT(message, matchers::contains("layer 'n': the plan of variant 'baseline' breaks its contract"));
        CHECK_THAT(message, matchers::contains(why));
    };
    SECTION("no such kernel") {
        emitted.dispatch.kernel = 9;
        refused_for("expected a kernel below");
    }
    SECTION("too few bindings") {
        emitted.bind.pop_back();
        refused_for("expected 5 bindings, found 4");
    }
    SECTION("an input that the kernel writes to") {
        std::swap(emitted.bind[0], emitted.bind[4]);
        refused_for("the kernel may write to it");
    }
    SECTION("a weight that was left out, written to") {
        emitted.bind[4] = {0, 0, LAMINA_WEIGHT, 1};
        refused_for("the kernel may write to it");
    }
    SECTION("a port that does not exist") {
        emitted.bind[0].index = 2;
        refused_for("no port 2");
    }
    SECTION("a role that does not exist") {
        emitted.bind[0].role = 6;
        refused_for("no such role");
    }
    SECTION("scratch that was never asked for") {
        emitted.bind[4] = {0, 0, LAMINA_SCRATCH, 0};
        refused_for("no such role or scratch block");
    }
    SECTION("an offset that bindings cannot have") {
        emitted.bind[0].offset = 4;
        refused_for("not a multiple of 256");
    }
    SECTION("bytes beyond the tensor") {
        emitted.bind[0].bytes = 6 * 37 * 4 + 12;
        refused_for("exceed a tensor of 896");
    }
    SECTION("bytes that wrap around") {
        emitted.bind[0].offset = 256, emitted.bind[0].bytes = std::numeric_limits<uint64_t>::max() - 128;
        refused_for("exceed a tensor of 896");
    }
    SECTION("an offset beyond the tensor") {
        emitted.bind[0].offset = 1024;
        refused_for("exceed a tensor of 896");
    }
    SECTION("no workgroups") {
        emitted.dispatch.groups[1] = 0;
        refused_for("workgroups along axis 1, found 0");
    }
    SECTION("too many workgroups") {
        emitted.dispatch.groups[2] = 65536;
        refused_for("workgroups along axis 2, found 65536");
    }
    SECTION("a larger workgroup than the device's") {
        test.device.max_invocations = 32;
        refused_for("at most 32 invocations");
    }
    SECTION("more shared memory than the device's") {
        test.device.shared_bytes = 256;
        refused_for("512 bytes of shared memory");
    }
    SECTION("a push block of another size") {
        emitted.dispatch.push_bytes = 8;
        refused_for("expected 12 bytes of push constants, found 8");
    }
    SECTION("a specialization constant that the kernel lacks") {
        emitted.spec[1].id = 7;
        refused_for("no specialization constant 7");
    }
    SECTION("a specialization constant twice") {
        emitted.spec[1].id = 0;
        refused_for("given twice");
    }
    SECTION("lists that are null though they have entries") {
        emitted.null_lists = true;
        refused_for("expected bindings, found a null pointer");
    }
    SECTION("a null dispatch") {
        emitted.null_dispatch = true;
        CHECK_THAT(test.refusal(), matchers::contains("a null pointer to a function of the host"));
    }
    SECTION("nowhere to put scratch") {
        emitted.null_ref = true;
        CHECK_THAT(test.refusal(), matchers::contains("a null pointer to a function of the host"));
    }
    SECTION("more dispatches than a plan may have") {
        emitted.times = 65537;
        CHECK_THAT(test.refusal(), matchers::contains("more than 65536 dispatches"));
    }
    SECTION("scratch beyond all memory") {
        emitted.scratch = std::numeric_limits<uint64_t>::max() - 5;
        CHECK_THAT(test.refusal(), matchers::contains("bytes of scratch, found 18446744073709551610"));
    }
    SECTION("an empty plan") {
        emitted.dispatch.groups[0] = std::numeric_limits<uint32_t>::max();
        CHECK_THAT(test.refusal(), matchers::contains("dispatches nothing"));
    }
}

TEST_CASE("a tensor beyond what a device binds is the device's limit, not the plugin's fault") {
    BadPlan test;
    test.device.max_binding_bytes = 512;
    try {
        (void)test.plan();
        FAIL("nothing was thrown");
    } catch (const Error &e) {
        CHECK(e.code() == ErrorCode::no_device);
        CHECK_THAT(e.what(), matchers::contains("binds at most 512"));
    }
}

TEST_CASE("an unsupported variant is not an error, and gives no partial plan") {
    BadPlan test;
    emitted.status = LAMINA_UNSUPPORTED;
    CHECK_FALSE(test.plan().has_value());
}

TEST_CASE("a variant that dispatches a kernel which the build left out does not run, and says why") {
    BadPlan test;
    test.leave_out_kernel();
    CHECK_FALSE(test.plan().has_value());
    CHECK_THAT(test.refused.why, matchers::contains("kernel 'layer_norm' is not in this build"));
    CHECK(test.refused.missing);
}

TEST_CASE("a plan without the kernel that the build left out stays as it was") {
    BadPlan test;
    test.leave_out_kernel();
    emitted.dispatch.kernel = 1; // layer_norm_subgroup, for which the baseline names no features
    CHECK_THAT(test.refusal(), matchers::contains("of kernel 'layer_norm_subgroup': the kernel uses device features"));
}

namespace {

constexpr lamina_ref weight_0{0, 0, LAMINA_WEIGHT, 0}, bias_1{0, 0, LAMINA_WEIGHT, 1},
    block_0{0, 0, LAMINA_PREPARED, 0};

} // namespace

TEST_CASE("what is prepared once is filled from weights, and read by the plan's own dispatches") {
    BadPlan test;
    emitted.prepared = 200;
    emitted.prepare = {weight_0, weight_0, bias_1, bias_1, block_0};
    emitted.bind[0] = block_0; // in place of x
    const auto plan = test.plan();
    REQUIRE(plan.has_value());
    CHECK(plan->preparation.memory == std::vector<uint64_t>{208});
    REQUIRE(plan->preparation.dispatches.size() == 1);
    CHECK(plan->preparation.dispatches[0].bindings[4].writes);
    CHECK(plan->dispatches[0].bindings[0].bytes == 208);
}

TEST_CASE("a preparation that breaks a rule is refused") {
    BadPlan test;
    emitted.prepared = 200;
    emitted.prepare = {weight_0, weight_0, bias_1, bias_1, block_0};
    SECTION("it reads a tensor of the run") {
        emitted.prepare[0] = {0, 0, LAMINA_IN, 0};
        CHECK_THAT(test.refusal(), matchers::contains("preparing dispatch 0 of kernel 'layer_norm': binding 0: a "
                                                      "dispatch that prepares memory may use only weights"));
    }
    SECTION("it writes a tensor of the run") {
        emitted.prepare[4] = {0, 0, LAMINA_OUT, 0};
        CHECK_THAT(test.refusal(), matchers::contains("binding 4: a dispatch that prepares memory"));
    }
    SECTION("a dispatch of the run writes what is prepared") {
        emitted.bind[4] = block_0;
        CHECK_THAT(test.refusal(), matchers::contains("prepared memory, but the kernel may write to it"));
    }
    SECTION("nothing fills the memory") {
        emitted.prepare.clear();
        CHECK_THAT(test.refusal(), matchers::contains("no dispatch fills block 0"));
    }
    SECTION("there is no such memory") {
        emitted.prepare[4].index = 1;
        CHECK_THAT(test.refusal(), matchers::contains("no such role or scratch block"));
    }
}
