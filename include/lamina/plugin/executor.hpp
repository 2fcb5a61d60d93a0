// C++ sugar for an executor plugin: what runs layers on the device `cpu` faster than their references do.
//
//     struct Fast {
//         static constexpr auto id = "fast", summary = "matrix products by a BLAS";
//         static constexpr std::array kernels{cpu_kernel<linear>("linear")};   // void linear(const CpuCall &)
//     };
//     LAMINA_EXECUTOR(Fast)
//
// A kernel computes what the layer's reference does, within the tolerance of the layer's contract. It throws
// Unsupported for a call that it does not do, and the reference runs instead: outputs and states may have been written
// by then.
#pragma once

#include <lamina/plugin.hpp>

namespace lamina::plugin {

// What a CPU kernel is called with. An executor does not see the layers' contracts, so ports and parameters go by their
// place in them. All floating-point data is F32.
class CpuCall {
  public:
    explicit CpuCall(const lamina_call &call) : call_(&call) {}

    [[nodiscard]] double real(uint32_t param) const { return call_->params[param]; }
    [[nodiscard]] int64_t integer(uint32_t param) const { return static_cast<int64_t>(real(param)); }
    [[nodiscard]] bool flag(uint32_t param) const { return real(param) != 0; }

    [[nodiscard]] Tensor in(uint32_t port) const { return Tensor(call_->in[port]); }
    [[nodiscard]] Tensor weight(uint32_t port) const { return Tensor(call_->weight[port]); }
    [[nodiscard]] Tensor out(uint32_t port) const { return Tensor(call_->out[port]); }
    [[nodiscard]] Tensor state(uint32_t port) const { return Tensor(call_->state[port]); }

  private:
    const lamina_call *call_;
};

namespace detail {

template <void (*Kernel)(const CpuCall &)>
lamina_status run_on_cpu(const lamina_call *call, const lamina_host *host) noexcept {
    return guarded(host, [&] { Kernel(CpuCall(*call)); });
}

template <class E> constexpr lamina_executor describe_executor() {
    lamina_executor d{};
    d.prefix = prefix(LAMINA_EXECUTOR, sizeof(lamina_executor));
    d.id = E::id, d.summary = E::summary;
    d.version = "1.0.0";
    if constexpr (requires { E::version; }) d.version = E::version;
    d.kernels = std::data(E::kernels), d.n_kernels = count(E::kernels);
    return d;
}

} // namespace detail

template <void (*Kernel)(const CpuCall &)> constexpr lamina_cpu_kernel cpu_kernel(const char *layer) {
    return {layer, detail::run_on_cpu<Kernel>};
}

} // namespace lamina::plugin

#define LAMINA_EXECUTOR(Executor)                                                                                      \
    extern "C" __attribute__((visibility("default"))) const lamina_prefix *lamina_plugin_query(uint32_t major,         \
                                                                                               uint32_t /*minor*/) {   \
        static constexpr lamina_executor descriptor = lamina::plugin::detail::describe_executor<Executor>();           \
        return major == LAMINA_ABI_MAJOR ? &descriptor.prefix : nullptr;                                               \
    }
