#include "plan/layer_plan.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>

namespace lamina::plan {
namespace {

// Limits, so that a plugin that loops by mistake is refused before memory runs out. plugin.h states them.
constexpr size_t most_parts = 65536;
constexpr uint64_t most_bytes = uint64_t{1} << 40;

// Checks and records what a plan emits, dispatch by dispatch.
class Recorder {
  public:
    Recorder(const abi::LayerCall &call, const Kernels &kernels, const lamina_variant &variant,
             const lamina_device &device)
        : call_(call), kernels_(kernels), variant_(variant), device_(device) {}

    lamina_ref scratch(uint64_t bytes) {
        expect_bytes(bytes, plan.scratch.size(), "of scratch");
        plan.scratch.push_back((bytes + 15) / 16 * 16);
        return {0, 0, LAMINA_SCRATCH, static_cast<uint32_t>(plan.scratch.size() - 1)};
    }

    lamina_ref constant(std::span<const std::byte> bytes) {
        if (bytes.data() == nullptr) fail("the data of a constant is null");
        expect_bytes(bytes.size(), plan.constants.size(), "of a constant");
        std::vector<std::byte> padded(bytes.begin(), bytes.end());
        padded.resize((bytes.size() + 15) / 16 * 16);
        plan.constants.push_back(std::move(padded));
        return {0, 0, LAMINA_CONSTANT, static_cast<uint32_t>(plan.constants.size() - 1)};
    }

    lamina_ref prepared(uint64_t bytes) {
        expect_bytes(bytes, plan.preparation.memory.size(), "of prepared memory");
        plan.preparation.memory.push_back((bytes + 15) / 16 * 16);
        return {0, 0, LAMINA_PREPARED, static_cast<uint32_t>(plan.preparation.memory.size() - 1)};
    }

    void dispatch(const lamina_dispatch &d) { add(d, plan.dispatches, Phase::run); }
    void prepare(const lamina_dispatch &d) { add(d, plan.preparation.dispatches, Phase::preparation); }

    // The first kernel that the plan dispatches and this build lacks; null if it has all of them.
    [[nodiscard]] const char *left_out() const { return left_out_; }

    // The checks that are only possible at the end.
    void finish() const {
        if (plan.dispatches.empty()) fail("it dispatches nothing");
        for (uint32_t i = 0; i < plan.preparation.memory.size(); ++i) expect_filled(i);
    }

    LayerPlan plan;

  private:
    enum class Phase { preparation, run };

    void expect_bytes(uint64_t bytes, size_t blocks, const char *what) const {
        if (bytes == 0 || bytes > most_bytes)
            fail("expected 1 to " + std::to_string(most_bytes) + " bytes " + what + ", found " + std::to_string(bytes));
        if (blocks == most_parts) fail("more than " + std::to_string(most_parts) + " blocks " + what);
    }

    void expect_lists(const lamina_dispatch &d) const {
        for (const auto &[list, n, name] :
             {std::tuple<const void *, uint32_t, const char *>{d.bind, d.n_bind, "bindings"},
              {d.spec, d.n_spec, "specialization constants"},
              {d.push, d.push_bytes, "push constants"}})
            if (n != 0 && list == nullptr) fail(std::string("expected ") + name + ", found a null pointer");
    }

    void add(const lamina_dispatch &d, std::vector<Dispatch> &to, Phase phase) {
        if (to.size() == most_parts) fail("more than " + std::to_string(most_parts) + " dispatches");
        phase_ = phase;
        place_ = std::string(phase == Phase::run ? ": dispatch " : ": preparing dispatch ") + std::to_string(to.size());
        if (d.struct_size < sizeof d)
            fail("expected a dispatch of " + std::to_string(sizeof d) + " bytes, found " +
                 std::to_string(d.struct_size));
        if (d.kernel >= kernels_.size())
            fail("expected a kernel below " + std::to_string(kernels_.size()) + ", found " + std::to_string(d.kernel));
        const KernelInfo &kernel = kernels_[d.kernel];
        const char *name = call_.layer().contract->kernels[d.kernel].name;
        if (kernel.left_out) {
            if (left_out_ == nullptr) left_out_ = name;
            return;
        }
        place_ += std::string(" of kernel '") + name + "'";
        expect_lists(d);
        Dispatch out;
        out.kernel = d.kernel;
        check_kernel(kernel);
        take_specs(d, kernel, out);
        check_shared_memory(kernel, out);
        take_geometry(d, kernel, out);
        take_push(d, kernel, out);
        take_bindings(d, kernel, out);
        to.push_back(std::move(out));
        place_.clear();
    }

    void expect_filled(uint32_t block) const {
        for (const Dispatch &d : plan.preparation.dispatches)
            for (const Binding &b : d.bindings)
                if (b.role == LAMINA_PREPARED && b.index == block && b.writes) return;
        fail("no dispatch fills block " + std::to_string(block) + " of the memory that it prepares");
    }

    // A preparing dispatch runs once, so it may only depend on memory that never changes.
    void check_phase(const lamina_ref &ref, const std::string &name) const {
        const bool lasting = ref.role == LAMINA_WEIGHT || ref.role == LAMINA_CONSTANT || ref.role == LAMINA_PREPARED;
        if (phase_ == Phase::preparation && !lasting)
            fail(name + ": a dispatch that prepares memory may use only weights, constants and prepared memory");
    }

    [[noreturn]] void fail(const std::string &why) const {
        throw Error(ErrorCode::plugin, call_.where() + ": the plan of variant '" + variant_.name +
                                           "' breaks its contract" + place_ + ": " + why);
    }

    void check_kernel(const KernelInfo &kernel) const {
        if ((kernel.features & ~variant_.needs) != 0)
            fail("the kernel uses device features that the variant does not name in `needs`");
    }

    void check_shared_memory(const KernelInfo &kernel, const Dispatch &out) const {
        std::string why_not;
        const std::optional<uint64_t> bytes = kernel.shared.bytes(out.specs, why_not);
        if (!bytes) fail(why_not);
        if (*bytes > device_.shared_bytes)
            fail("it needs " + std::to_string(*bytes) + " bytes of shared memory; the device has " +
                 std::to_string(device_.shared_bytes));
    }

    void take_specs(const lamina_dispatch &d, const KernelInfo &kernel, Dispatch &out) const {
        out.specs.assign(d.spec, d.spec + d.n_spec);
        std::sort(out.specs.begin(), out.specs.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
        for (size_t i = 0; i < out.specs.size(); ++i) {
            const uint32_t id = out.specs[i].id;
            if (std::none_of(kernel.specs.begin(), kernel.specs.end(), [&](const auto &s) { return s.id == id; }))
                fail("the kernel has no specialization constant " + std::to_string(id));
            if (i != 0 && out.specs[i - 1].id == id)
                fail("specialization constant " + std::to_string(id) + " is given twice");
        }
    }

    void take_geometry(const lamina_dispatch &d, const KernelInfo &kernel, Dispatch &out) const {
        uint64_t invocations = 1;
        for (unsigned axis = 0; axis < 3; ++axis) {
            if (d.groups[axis] == 0 || d.groups[axis] > device_.max_groups[axis])
                fail("expected 1 to " + std::to_string(device_.max_groups[axis]) + " workgroups along axis " +
                     std::to_string(axis) + ", found " + std::to_string(d.groups[axis]));
            out.groups[axis] = d.groups[axis];
            uint32_t local = kernel.local[axis];
            for (const lamina_spec &s : out.specs)
                if (kernel.local_spec[axis] == s.id) local = s.bits;
            if (local == 0 || local > device_.max_local[axis])
                fail("expected a workgroup size of 1 to " + std::to_string(device_.max_local[axis]) + " along axis " +
                     std::to_string(axis) + ", found " + std::to_string(local));
            invocations *= local;
        }
        if (invocations > device_.max_invocations)
            fail("expected at most " + std::to_string(device_.max_invocations) + " invocations per workgroup, found " +
                 std::to_string(invocations));
    }

    void take_push(const lamina_dispatch &d, const KernelInfo &kernel, Dispatch &out) const {
        if (d.push_bytes != kernel.push_bytes)
            fail("expected " + std::to_string(kernel.push_bytes) + " bytes of push constants, found " +
                 std::to_string(d.push_bytes));
        out.push.resize(d.push_bytes);
        if (d.push_bytes != 0) std::memcpy(out.push.data(), d.push, d.push_bytes);
    }

    void take_bindings(const lamina_dispatch &d, const KernelInfo &kernel, Dispatch &out) const {
        if (d.n_bind != kernel.bindings.size())
            fail("expected " + std::to_string(kernel.bindings.size()) + " bindings, found " + std::to_string(d.n_bind));
        for (uint32_t i = 0; i < d.n_bind; ++i) out.bindings.push_back(resolve(d.bind[i], kernel.bindings[i]));
    }

    [[nodiscard]] Binding resolve(const lamina_ref &ref, const KernelBinding &access) const {
        const std::string name = "binding " + std::to_string(access.binding);
        const bool read_only = ref.role == LAMINA_IN || ref.role == LAMINA_WEIGHT || ref.role == LAMINA_CONSTANT ||
                               (ref.role == LAMINA_PREPARED && phase_ == Phase::run);
        if (read_only && access.writes)
            fail(name + " is an input, weight, constant or prepared memory, but the kernel may write to it: declare it "
                        "readonly");
        check_phase(ref, name);
        Binding b{ref.role, ref.index, ref.offset, ref.bytes, access.reads, access.writes};
        const uint64_t size = bytes_of(ref, b, name);
        if (size == 0) { // left out: bound to shared zeros, which must not be written
            if (access.writes) fail(name + " is a port that was left out, but the kernel may write to it");
            b.offset = b.bytes = 0;
            return b;
        }
        if (ref.offset % device_.binding_align != 0)
            fail(name + " begins at " + std::to_string(ref.offset) + ", not a multiple of " +
                 std::to_string(device_.binding_align));
        if (ref.offset >= size || ref.bytes > size - ref.offset)
            fail(name + ": " + std::to_string(ref.bytes) + " bytes from " + std::to_string(ref.offset) +
                 " exceed a tensor of " + std::to_string(size));
        if (b.bytes == 0) b.bytes = size - ref.offset;
        if (b.bytes > device_.max_binding_bytes)
            throw Error(ErrorCode::no_device, call_.where() + place_ + ": " + name + " spans " +
                                                  std::to_string(b.bytes) + " bytes; this device binds at most " +
                                                  std::to_string(device_.max_binding_bytes) + ": " + instead_of(ref));
        return b;
    }

    // What to do about memory that is too large to be bound.
    static const char *instead_of(const lamina_ref &ref) {
        if (ref.role == LAMINA_WEIGHT || ref.role == LAMINA_PREPARED)
            return "give this layer to another device, such as cpu (--device and --split)";
        if (ref.role == LAMINA_STATE) return "use a shorter context, or --cache f16 or q8_0";
        return "use a smaller batch or shorter sequences";
    }

    // The size of the memory that a ref refers to; 0 if the port was left out. Redirects b to the port that stands in.
    uint64_t bytes_of(const lamina_ref &ref, Binding &b, const std::string &name) const {
        if (ref.role == LAMINA_SCRATCH && ref.index < plan.scratch.size()) return plan.scratch[ref.index];
        if (ref.role == LAMINA_CONSTANT && ref.index < plan.constants.size()) return plan.constants[ref.index].size();
        if (ref.role == LAMINA_PREPARED && ref.index < plan.preparation.memory.size())
            return plan.preparation.memory[ref.index];
        if (ref.role > LAMINA_STATE) fail(name + ": no such role or scratch block");
        const auto list = static_cast<abi::PortList>(ref.role);
        const auto &types = call_.types(list);
        if (ref.index >= types.size())
            fail(name + ": the contract has no port " + std::to_string(ref.index) + " of that role");
        const TensorType &type = types[ref.index];
        if (type.shape.empty()) return 0;
        b.index = call_.bound(list)[ref.index];
        return (type.bytes() + 15) / 16 * 16; // tensors are padded: see lamina_ref
    }

    const abi::LayerCall &call_;
    const Kernels &kernels_;
    const lamina_variant &variant_;
    const lamina_device &device_;
    std::string place_;
    const char *left_out_ = nullptr;
    Phase phase_ = Phase::run;
};

// The values of lamina_ref.role and PortList agree.
static_assert(LAMINA_IN == static_cast<int>(abi::PortList::in) &&
              LAMINA_WEIGHT == static_cast<int>(abi::PortList::weight) &&
              LAMINA_OUT == static_cast<int>(abi::PortList::out) &&
              LAMINA_STATE == static_cast<int>(abi::PortList::state));

} // namespace

Kernels::Kernels(const abi::Layer &layer)
    : layer_(layer), kernels_(std::make_unique<Kernel[]>(layer.contract->n_kernels)) {}

const KernelInfo &Kernels::operator[](uint32_t i) const {
    const lamina_kernel &kernel = std::span(layer_.contract->kernels, size())[i];
    std::call_once(kernels_[i].reflected, [&] {
        kernels_[i].info = reflect(kernel, layer_.path.string() + ": kernel '" + kernel.name + "'");
    });
    return kernels_[i].info;
}

std::optional<LayerPlan> plan_layer(const abi::LayerCall &call, const Kernels &kernels, uint32_t variant,
                                    const lamina_device &device, Refusal &refusal, const lamina_device *shown) {
    const lamina_variant &v = call.layer().contract->variants[variant];
    if ((v.needs & ~device.features) != 0) {
        refusal = {std::string("variant '") + v.name + "' needs features that the device lacks", true};
        return std::nullopt;
    }
    Recorder recorder(call, kernels, v, device);
    abi::LayerCall::PlanSink sink;
    sink.scratch = [&](uint64_t bytes) { return recorder.scratch(bytes); };
    sink.constant = [&](std::span<const std::byte> bytes) { return recorder.constant(bytes); };
    sink.dispatch = [&](const lamina_dispatch &d) { recorder.dispatch(d); };
    sink.prepared = [&](uint64_t bytes) { return recorder.prepared(bytes); };
    sink.prepare = [&](const lamina_dispatch &d) { recorder.prepare(d); };
    refusal = {};
    if (!call.plan(variant, shown != nullptr ? *shown : device, sink, refusal.why)) return std::nullopt;
    if (recorder.left_out() != nullptr) {
        refusal = {std::string("kernel '") + recorder.left_out() +
                       "' is not in this build: the shader compiler that built the plugin could not compile it",
                   true};
        return std::nullopt;
    }
    recorder.finish();
    return std::move(recorder.plan);
}

} // namespace lamina::plan
