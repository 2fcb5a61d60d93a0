// C++20 sugar over the plugin ABI (plugin.h). Header-only; a plugin includes this and nothing else of Lamina.
//
// A layer is a struct of statics, made into a plugin by one macro:
//
//     struct Scale {
//         static constexpr auto id = "scale", summary = "x * factor", source = "";
//         static constexpr std::array params{real("factor", "what x is multiplied by", 1.0, -1e6, 1e6)};
//         static constexpr std::array inputs{input("x", "... C", "any tensor")};
//         static constexpr std::array outputs{output("y", "... C", "x * factor")};
//         static constexpr std::array variants{baseline("one invocation an element")};
//         static constexpr std::array tolerances{tolerance(1e-6, 0)};
//         static constexpr std::array cases{"C=37 factor=0.5"};
//         static constexpr auto &kernels = lamina_kernels::all;      // from the header that lamina_add_layer() makes
//         static void reference(const Call &call);
//         static void plan(const Call &call, Plan &plan);
//     };
//     LAMINA_PLUGIN(Scale)
//
// `weights`, `states` and `check` may be left out. Functions report what is wrong by throwing Invalid, Unsupported or
// anything else derived from std::exception; nothing thrown crosses the boundary.
#pragma once

#include <lamina/plugin.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define LAMINA_SANITIZER LAMINA_SANITIZER_ADDRESS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LAMINA_SANITIZER LAMINA_SANITIZER_ADDRESS
#endif
#endif
#ifndef LAMINA_SANITIZER
#define LAMINA_SANITIZER LAMINA_SANITIZER_NONE
#endif

namespace lamina::plugin {

struct Invalid : std::runtime_error { // the caller's parameters or shapes: LAMINA_INVALID
    using std::runtime_error::runtime_error;
};
struct Unsupported : std::runtime_error { // not by this variant: LAMINA_UNSUPPORTED
    using std::runtime_error::runtime_error;
};

// ---- The contract ----

inline constexpr double unbounded = 9007199254740992.0; // 2^53

constexpr lamina_param integer(const char *name, const char *summary, double dflt, double min, double max = unbounded) {
    return {name, summary, nullptr, nullptr, dflt, min, max, LAMINA_INT, 0};
}
constexpr lamina_param real(const char *name, const char *summary, double dflt, double min, double max) {
    return {name, summary, nullptr, nullptr, dflt, min, max, LAMINA_REAL, 0};
}
constexpr lamina_param boolean(const char *name, const char *summary, bool dflt) {
    return {name, summary, nullptr, nullptr, dflt ? 1.0 : 0.0, 0, 1, LAMINA_BOOL, 0};
}
// choices: "relu|gelu"; the first is the default.
constexpr lamina_param choice(const char *name, const char *summary, const char *choices) {
    return {name, summary, choices, nullptr, 0, 0, unbounded, LAMINA_CHOICE, 0};
}
constexpr lamina_param required(lamina_param p) {
    p.flags |= LAMINA_REQUIRED;
    return p;
}
constexpr lamina_param follows(lamina_param p, const char *earlier) {
    p.follows = earlier;
    return p;
}
// Every layer whose sequences may come as (T, B, C) declares this.
inline constexpr lamina_param batch_first = boolean("batch_first", "sequences are (B, T, C); false: (T, B, C)", true);

constexpr lamina_port input(const char *name, const char *dims, const char *summary) {
    return {name, summary, dims, nullptr, nullptr, LAMINA_F32, 0};
}
constexpr lamina_port indices(const char *name, const char *dims, const char *values, const char *summary) {
    return {name, summary, dims, values, nullptr, LAMINA_I32, 0};
}
constexpr lamina_port weight(const char *name, const char *dims, const char *summary) {
    return {name, summary, dims, nullptr, nullptr, LAMINA_F32 | LAMINA_F16 | LAMINA_BF16, 0};
}
constexpr lamina_port output(const char *name, const char *dims, const char *summary) {
    return input(name, dims, summary);
}
constexpr lamina_port state(const char *name, const char *dims, const char *summary) {
    return input(name, dims, summary);
}

constexpr lamina_port optional(lamina_port p) {
    p.flags |= LAMINA_OPTIONAL;
    return p;
}
constexpr lamina_port sequence(lamina_port p) { // (B, T, ...), or (T, B, ...) when batch_first is false
    p.flags |= LAMINA_SEQUENCE;
    return p;
}
constexpr lamina_port follows(lamina_port p, const char *earlier) {
    p.follows = earlier;
    p.flags |= LAMINA_OPTIONAL;
    return p;
}

constexpr lamina_variant baseline(const char *summary) { return {"baseline", summary, 0, LAMINA_F32, 0}; }
constexpr lamina_variant variant(const char *name, const char *summary, uint64_t needs,
                                 uint32_t arithmetic = LAMINA_F32) {
    return {name, summary, needs, arithmetic, 0};
}
constexpr lamina_tolerance tolerance(double rtol, double atol, uint32_t arithmetic = LAMINA_F32) {
    return {rtol, atol, arithmetic, 0};
}

// ---- Views of a call ----

class Tensor {
  public:
    explicit Tensor(const lamina_tensor &t) : t_(&t) {}

    explicit operator bool() const { return t_->rank != 0; } // false: an optional port that was left out
    [[nodiscard]] bool stands_in() const { return (t_->flags & LAMINA_STANDS_IN) != 0; } // see lamina_port.follows
    [[nodiscard]] uint32_t dtype() const { return t_->dtype; }
    [[nodiscard]] int rank() const { return static_cast<int>(t_->rank); }
    [[nodiscard]] int64_t dim(int axis) const { return t_->dim[axis < 0 ? axis + rank() : axis]; } // -1: the last
    [[nodiscard]] int64_t size() const {
        int64_t n = 1;
        for (int i = 0; i < rank(); ++i) n *= dim(i);
        return n;
    }
    [[nodiscard]] int64_t cols() const { return dim(-1); }
    [[nodiscard]] int64_t rows() const { // all axes but the last; 0 when the last is empty
        int64_t n = 1;
        for (int i = 0; i + 1 < rank(); ++i) n *= dim(i);
        return n;
    }
    [[nodiscard]] int64_t element_bytes() const { return t_->dtype & (LAMINA_F16 | LAMINA_BF16) ? 2 : 4; }
    [[nodiscard]] std::span<float> f32() const { return {static_cast<float *>(t_->data), data_size()}; }
    [[nodiscard]] std::span<int32_t> i32() const { return {static_cast<int32_t *>(t_->data), data_size()}; }
    [[nodiscard]] std::span<float> row(int64_t r) const {
        return f32().subspan(static_cast<size_t>(r * cols()), static_cast<size_t>(cols()));
    }

  private:
    [[nodiscard]] size_t data_size() const { return t_->data != nullptr && *this ? static_cast<size_t>(size()) : 0; }
    const lamina_tensor *t_;
};

// The rows of a port declared with sequence(): row(b, t) in either layout.
struct Sequence {
    int64_t batch, length, channels, batch_stride, time_stride; // strides in rows
    Sequence(const Tensor &t, bool batch_major)
        : batch(t.dim(batch_major ? 0 : 1)), length(t.dim(batch_major ? 1 : 0)), channels(t.rank() > 2 ? t.dim(2) : 1),
          batch_stride(batch_major ? length : 1), time_stride(batch_major ? 1 : batch) {}
    [[nodiscard]] int64_t row(int64_t b, int64_t t) const { return b * batch_stride + t * time_stride; }
};

class Call {
  public:
    Call(const lamina_layer &layer, const lamina_call &call) : layer_(&layer), call_(&call) {}

    [[nodiscard]] double real(std::string_view name) const {
        return call_->params[find(layer_->params, layer_->n_params, name)];
    }
    [[nodiscard]] int64_t integer(std::string_view name) const { return static_cast<int64_t>(real(name)); }
    [[nodiscard]] bool flag(std::string_view name) const { return real(name) != 0; }

    [[nodiscard]] Tensor in(std::string_view name) const {
        return at(call_->in, layer_->inputs, layer_->n_inputs, name);
    }
    [[nodiscard]] Tensor weight(std::string_view name) const {
        return at(call_->weight, layer_->weights, layer_->n_weights, name);
    }
    [[nodiscard]] Tensor out(std::string_view name) const {
        return at(call_->out, layer_->outputs, layer_->n_outputs, name);
    }
    [[nodiscard]] Tensor state(std::string_view name) const {
        return at(call_->state, layer_->states, layer_->n_states, name);
    }

    [[nodiscard]] const lamina_device &device() const { return *call_->device; }
    [[nodiscard]] const lamina_layer &layer() const { return *layer_; }

    template <class Named> static uint32_t find(const Named *list, uint32_t n, std::string_view name) {
        for (uint32_t i = 0; i < n; ++i)
            if (name == list[i].name) return i;
        throw std::logic_error("the contract has no '" + std::string(name) + "'");
    }

  private:
    static Tensor at(const lamina_tensor *tensors, const lamina_port *ports, uint32_t n, std::string_view name) {
        return Tensor(tensors[find(ports, n, name)]);
    }
    const lamina_layer *layer_;
    const lamina_call *call_;
};

// ---- The plan ----

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
        return whole(LAMINA_IN, Call::find(call_->layer().inputs, call_->layer().n_inputs, name));
    }
    [[nodiscard]] lamina_ref weight(std::string_view name) const {
        return whole(LAMINA_WEIGHT, Call::find(call_->layer().weights, call_->layer().n_weights, name));
    }
    [[nodiscard]] lamina_ref out(std::string_view name) const {
        return whole(LAMINA_OUT, Call::find(call_->layer().outputs, call_->layer().n_outputs, name));
    }
    [[nodiscard]] lamina_ref state(std::string_view name) const {
        return whole(LAMINA_STATE, Call::find(call_->layer().states, call_->layer().n_states, name));
    }
    [[nodiscard]] lamina_ref scratch(int64_t bytes) {
        lamina_ref ref{};
        if (host_->scratch(host_, static_cast<uint64_t>(bytes), &ref) != LAMINA_OK)
            throw std::runtime_error("the host refused scratch memory");
        return ref;
    }

    // A table that kernels read: its values are copied here and reach the device once, before the first run.
    template <class T> [[nodiscard]] lamina_ref constant(std::span<T> values) {
        static_assert(std::is_trivially_copyable_v<T>);
        lamina_ref ref{};
        if (host_->constant(host_, values.data(), values.size_bytes(), &ref) != LAMINA_OK)
            throw std::runtime_error("the host refused a constant");
        return ref;
    }

    // n workgroups as a grid that the device takes: a kernel finds its number as y * gl_NumWorkGroups.x + x, and
    // returns when it is not below n.
    [[nodiscard]] Groups spread(int64_t n) const {
        const int64_t widest = call_->device().max_groups[0];
        const int64_t x = std::clamp<int64_t>(n, 1, widest);
        return {x, ceil_div(std::max<int64_t>(n, 1), x), 1};
    }

    // Splits a (rows, ...) weight whose rows are row_bytes long into windows that fit into one binding.
    [[nodiscard]] std::vector<Window> windows(lamina_ref ref, int64_t rows, int64_t row_bytes) const {
        const auto limit = static_cast<int64_t>(call_->device().max_binding_bytes);
        const auto align = static_cast<int64_t>(call_->device().binding_align);
        if (rows * row_bytes <= limit) return {{0, rows, ref}};
        const int64_t step = align / std::gcd(align, row_bytes); // rows between aligned offsets
        const int64_t most = limit / row_bytes / step * step;
        if (most == 0)
            throw Unsupported("one row of " + std::to_string(row_bytes) + " bytes exceeds the device's binding limit");
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
        static_assert(std::is_trivially_copyable_v<Push> && sizeof(Push) <= LAMINA_MAX_PUSH_BYTES);
        lamina_dispatch d{};
        d.kernel = kernel;
        d.groups[0] = group(groups.x), d.groups[1] = group(groups.y), d.groups[2] = group(groups.z);
        d.bind = bind.begin(), d.n_bind = static_cast<uint32_t>(bind.size());
        d.spec = spec.begin(), d.n_spec = static_cast<uint32_t>(spec.size());
        d.push = &push, d.push_bytes = std::is_empty_v<Push> ? 0 : static_cast<uint32_t>(sizeof(Push));
        if (host_->dispatch(host_, &d) != LAMINA_OK) throw std::runtime_error("the host refused a dispatch");
    }

  private:
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
        throw Unsupported(std::to_string(v) + " does not fit 32 bits");
    return static_cast<uint32_t>(v);
}
// The value of a WEIGHT's specialization constant (shaders/common/weight.glsl): its dtype, 0 when it was left out.
inline uint32_t dtype_of(const Tensor &weight) { return weight ? weight.dtype() : 0; }
inline uint32_t bits(float v) {
    uint32_t b = 0;
    std::memcpy(&b, &v, sizeof b);
    return b;
}

// ---- The descriptor ----

namespace detail {

template <class F> lamina_status guarded(const lamina_host *host, F &&body) noexcept {
    try {
        body();
        return LAMINA_OK;
    } catch (const Invalid &e) {
        host->error(host, e.what());
        return LAMINA_INVALID;
    } catch (const Unsupported &e) {
        host->error(host, e.what());
        return LAMINA_UNSUPPORTED;
    } catch (const std::exception &e) {
        host->error(host, e.what());
        return LAMINA_INTERNAL;
    } catch (...) {
        host->error(host, "an exception that is not a std::exception");
        return LAMINA_INTERNAL;
    }
}

template <class Array> constexpr uint32_t count(const Array &a) { return static_cast<uint32_t>(std::size(a)); }

inline constexpr lamina_prefix prefix(uint32_t kind, size_t size) {
    return {LAMINA_MAGIC, LAMINA_ABI_MAJOR, LAMINA_ABI_MINOR, kind, LAMINA_SANITIZER, static_cast<uint32_t>(size)};
}

template <class L> const lamina_layer &descriptor() noexcept;

template <class L> lamina_status check(const lamina_call *call, const lamina_host *host) noexcept {
    return guarded(host, [&] { L::check(Call(descriptor<L>(), *call)); });
}
template <class L> lamina_status reference(const lamina_call *call, const lamina_host *host) noexcept {
    return guarded(host, [&] { L::reference(Call(descriptor<L>(), *call)); });
}
template <class L> lamina_status plan(const lamina_call *call, uint32_t variant, const lamina_host *host) noexcept {
    return guarded(host, [&] {
        const Call view(descriptor<L>(), *call);
        Plan builder(view, variant, *host);
        L::plan(view, builder);
    });
}

template <class L> constexpr lamina_layer describe() {
    lamina_layer d{};
    d.prefix = prefix(LAMINA_LAYER, sizeof(lamina_layer));
    d.id = L::id, d.summary = L::summary, d.source = L::source;
    d.version = "1.0.0";
    if constexpr (requires { L::version; }) d.version = L::version;
    if constexpr (requires { L::params; }) d.params = std::data(L::params), d.n_params = count(L::params);
    d.inputs = std::data(L::inputs), d.n_inputs = count(L::inputs);
    if constexpr (requires { L::weights; }) d.weights = std::data(L::weights), d.n_weights = count(L::weights);
    d.outputs = std::data(L::outputs), d.n_outputs = count(L::outputs);
    if constexpr (requires { L::states; }) d.states = std::data(L::states), d.n_states = count(L::states);
    d.kernels = std::data(L::kernels), d.n_kernels = count(L::kernels);
    d.variants = std::data(L::variants), d.n_variants = count(L::variants);
    d.tolerances = std::data(L::tolerances), d.n_tolerances = count(L::tolerances);
    d.cases = std::data(L::cases), d.n_cases = count(L::cases);
    if constexpr (requires(const Call &c) { L::check(c); }) d.check = check<L>;
    d.reference = reference<L>;
    d.plan = plan<L>;
    return d;
}

template <class L> const lamina_layer &descriptor() noexcept {
    static constexpr lamina_layer d = describe<L>();
    return d;
}

} // namespace detail
} // namespace lamina::plugin

#define LAMINA_PLUGIN(Layer)                                                                                           \
    extern "C" __attribute__((visibility("default"))) const lamina_prefix *lamina_plugin_query(uint32_t major,         \
                                                                                               uint32_t /*minor*/) {   \
        return major == LAMINA_ABI_MAJOR ? &lamina::plugin::detail::descriptor<Layer>().prefix : nullptr;              \
    }
