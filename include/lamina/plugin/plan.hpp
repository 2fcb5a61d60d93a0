// Builds the plan of a variant: its memory and its dispatches.
#pragma once

#include <lamina/plugin/call.hpp>
#include <lamina/plugin/prepare.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <type_traits>
#include <vector>

namespace lamina::plugin {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Groups {
    int64_t x = 1, y = 1, z = 1;
};

struct Window { // consecutive rows of a weight that fit into one binding
    int64_t first, count;
    lamina_ref ref;
};

class Plan {
  public:
    Plan(const Call &call, uint32_t which, const lamina_host &host) : variant(which), call_(&call), host_(&host) {}

    const uint32_t variant; // index into the contract's variants

    [[nodiscard]] lamina_ref in(std::string_view name) const {
        return whole(LAMINA_IN, place(call_->layer().inputs, call_->layer().n_inputs, name));
    }
    [[nodiscard]] lamina_ref weight(std::string_view name) const {
        return whole(LAMINA_WEIGHT, place(call_->layer().weights, call_->layer().n_weights, name));
    }
    [[nodiscard]] lamina_ref out(std::string_view name) const {
        return whole(LAMINA_OUT, place(call_->layer().outputs, call_->layer().n_outputs, name));
    }
    [[nodiscard]] lamina_ref state(std::string_view name) const {
        return whole(LAMINA_STATE, place(call_->layer().states, call_->layer().n_states, name));
    }
    [[nodiscard]] lamina_ref scratch(int64_t bytes) {
        lamina_ref ref{};
        if (host_->scratch(host_, static_cast<uint64_t>(bytes), &ref) != LAMINA_OK)
            throw std::runtime_error("the host refused scratch memory");
        return ref;
    }

    // A table for kernels to read. The values are copied, and uploaded once, before the first run.
    template <class T> [[nodiscard]] lamina_ref constant(std::span<T> values) {
        static_assert(std::is_trivially_copyable_v<T>);
        lamina_ref ref{};
        if (host_->constant(host_, values.data(), values.size_bytes(), &ref) != LAMINA_OK)
            throw std::runtime_error("the host refused a constant");
        return ref;
    }

    // A grid of at least n workgroups that the device accepts. The number of a workgroup is y * gl_NumWorkGroups.x + x;
    // a kernel must return if it is n or more.
    [[nodiscard]] Groups spread(int64_t n) const {
        const int64_t widest = call_->device().max_groups[0];
        const int64_t x = std::clamp<int64_t>(n, 1, widest);
        return {x, ceil_div(std::max<int64_t>(n, 1), x), 1};
    }

    // Splits a (rows, ...) weight, with rows of row_bytes, into windows that fit into one binding each. A window starts
    // at a 32-bit word.
    [[nodiscard]] std::vector<Window> windows(lamina_ref ref, int64_t rows, int64_t row_bytes) const {
        const auto limit = static_cast<int64_t>(call_->device().max_binding_bytes);
        const auto align = std::max<int64_t>(4, static_cast<int64_t>(call_->device().binding_align));
        if (rows * row_bytes <= limit) return {{0, rows, ref}};
        const int64_t step = align / std::gcd(align, row_bytes); // rows between aligned offsets
        const int64_t most = limit / row_bytes / step * step;
        if (most == 0) {
            const std::string bytes = std::to_string(row_bytes) + " bytes";
            throw Unsupported(
                (step == 1 ? "a row of " + bytes + " exceeds"
                           : std::to_string(step) + " rows of " + bytes + ", which end at an aligned offset, exceed") +
                " the device's binding limit of " + std::to_string(limit));
        }
        std::vector<Window> out;
        for (int64_t first = 0; first < rows; first += most) {
            const int64_t count = std::min(most, rows - first);
            lamina_ref part = ref;
            part.offset = static_cast<uint64_t>(first * row_bytes);
            part.bytes = static_cast<uint64_t>(ceil_div(count * row_bytes, 4) * 4);
            out.push_back({first, count, part});
        }
        return out;
    }

    // bind[i] is binding i; push is a struct of 32-bit values laid out as in the shader.
    template <class Push>
    void dispatch(uint32_t kernel, Groups groups, std::initializer_list<lamina_ref> bind, const Push &push,
                  std::initializer_list<lamina_spec> spec = {}) {
        const lamina_dispatch d = described(kernel, groups, bind, push, spec);
        if (host_->dispatch(host_, &d) != LAMINA_OK) throw std::runtime_error("the host refused a dispatch");
    }

    // Memory that is filled once per session, and the dispatches that fill it: see <lamina/plugin/prepare.h>.
    [[nodiscard]] lamina_ref prepared(int64_t bytes) {
        lamina_ref ref{};
        if (preparing().memory(host_, static_cast<uint64_t>(bytes), &ref) != LAMINA_OK)
            throw std::runtime_error("the host refused prepared memory");
        return ref;
    }
    template <class Push>
    void prepare(uint32_t kernel, Groups groups, std::initializer_list<lamina_ref> bind, const Push &push,
                 std::initializer_list<lamina_spec> spec = {}) {
        const lamina_dispatch d = described(kernel, groups, bind, push, spec);
        if (preparing().dispatch(host_, &d) != LAMINA_OK) throw std::runtime_error("the host refused a dispatch");
    }

  private:
    // The result points to the arguments, so it is valid as long as they are.
    template <class Push>
    static lamina_dispatch described(uint32_t kernel, Groups groups, std::initializer_list<lamina_ref> bind,
                                     const Push &push, std::initializer_list<lamina_spec> spec) {
        static_assert(std::is_trivially_copyable_v<Push> && sizeof(Push) <= LAMINA_MAX_PUSH_BYTES);
        lamina_dispatch d{};
        d.struct_size = sizeof d;
        d.kernel = kernel;
        d.groups[0] = group(groups.x), d.groups[1] = group(groups.y), d.groups[2] = group(groups.z);
        d.bind = bind.begin(), d.n_bind = static_cast<uint32_t>(bind.size());
        d.spec = spec.begin(), d.n_spec = static_cast<uint32_t>(spec.size());
        d.push = &push, d.push_bytes = std::is_empty_v<Push> ? 0 : static_cast<uint32_t>(sizeof(Push));
        return d;
    }

    // Throws Unsupported if this host cannot prepare memory, so that another variant runs.
    [[nodiscard]] const lamina_prepare &preparing() const {
        const void *extension = host_->extension(host_, LAMINA_PREPARE);
        if (extension == nullptr) throw Unsupported("this host prepares no memory");
        return *static_cast<const lamina_prepare *>(extension);
    }
    [[nodiscard]] uint32_t place(const lamina_port *ports, uint32_t n, std::string_view name) const {
        return Call::find(ports, n, call_->layer().port_size, name);
    }
    static lamina_ref whole(uint32_t role, uint32_t index) { return {0, 0, role, index}; }
    static uint32_t group(int64_t n) {
        if (n < 0 || n > std::numeric_limits<uint32_t>::max()) throw Unsupported("too many workgroups");
        return static_cast<uint32_t>(n);
    }
    const Call *call_;
    const lamina_host *host_;
};

// A 32-bit value for a push constant or a specialization constant, checked.
inline uint32_t u32(int64_t v) {
    if (v < 0 || v > std::numeric_limits<uint32_t>::max())
        throw Unsupported(std::to_string(v) + " does not fit in 32 bits");
    return static_cast<uint32_t>(v);
}
// The value of a WEIGHT's specialization constant (shaders/common/weight.glsl): its dtype, or 0 if it was left out.
inline uint32_t dtype_of(const Tensor &weight) { return weight ? weight.dtype() : 0; }
inline uint32_t bits(float v) {
    uint32_t b = 0;
    std::memcpy(&b, &v, sizeof b);
    return b;
}

} // namespace lamina::plugin
