// Wraps executor plugins for C++. An executor runs layers on the device `cpu` faster than their references do.
//
//     struct Fast {
//         static constexpr auto id = "fast", summary = "matrix products with SIMD instructions";
//         static constexpr std::array kernels{cpu_kernel<linear>("linear", "x: ... K; weight: N K -> y: ... N")};
//     };
//     LAMINA_EXECUTOR(Fast)
//
// A kernel, void linear(const Call &), computes the same as the layer's reference, within the tolerance of the layer's
// contract. The second string is the signature of that contract (see lamina_cpu_kernel in plugin.h). For a call that it
// does not handle, the kernel throws Unsupported, and the reference runs instead. The kernel may already have written
// outputs, and states as the reference writes them.
#pragma once

#include <lamina/plugin.hpp>

namespace lamina::plugin {

namespace detail {

template <void (*Kernel)(const Call &)>
lamina_status run_on_cpu(const lamina_call *call, const lamina_host *host) noexcept {
    return guarded(host, [&] { Kernel(Call(*call, host)); });
}

template <class E> constexpr lamina_executor describe_executor() {
    lamina_executor d{};
    d.prefix = prefix(LAMINA_EXECUTOR, sizeof(lamina_executor));
    d.id = E::id, d.summary = E::summary;
    d.version = "1.0.0";
    if constexpr (requires { E::version; }) d.version = E::version;
    d.kernels = std::data(E::kernels), d.n_kernels = count(E::kernels);
    d.kernel_size = sizeof(lamina_cpu_kernel);
    return d;
}

} // namespace detail

// `stored_dtypes`: weights of these dtypes are passed as they are stored; see Tensor::stored_row(). `arithmetic`: how
// exact its products are; see lamina_cpu_kernel.
template <void (*Kernel)(const Call &)>
constexpr lamina_cpu_kernel cpu_kernel(const char *layer, const char *signature, uint32_t stored_dtypes = 0,
                                       uint32_t arithmetic = LAMINA_F32) {
    return {layer, signature, detail::run_on_cpu<Kernel>, stored_dtypes, arithmetic};
}

} // namespace lamina::plugin

#define LAMINA_EXECUTOR(Executor)                                                                                      \
    extern "C" __attribute__((visibility("default"))) const lamina_prefix *lamina_plugin_query(uint32_t major,         \
                                                                                               uint32_t /*minor*/) {   \
        static constexpr lamina_executor descriptor = lamina::plugin::detail::describe_executor<Executor>();           \
        return major == LAMINA_ABI_MAJOR ? &descriptor.prefix : nullptr;                                               \
    }
