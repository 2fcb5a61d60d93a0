// Wraps the plugin ABI (plugin.h) for C++20. Header-only; a plugin includes this and nothing else of Lamina.
//
// A layer is a struct of static members. One macro turns it into a plugin:
//
//     struct Scale {
//         static constexpr auto id = "scale", summary = "x * factor", source = "";
//         static constexpr std::array params{real("factor", "what x is multiplied by", 1.0, -1e6, 1e6)};
//         static constexpr std::array inputs{input("x", "... C", "any tensor")};
//         static constexpr std::array outputs{output("y", "... C", "x * factor")};
//         static constexpr std::array variants{baseline("one invocation per element")};
//         static constexpr std::array tolerances{tolerance(1e-6, 0)};
//         static constexpr std::array cases{"C=37 factor=0.5"};
//         static constexpr auto &kernels = lamina_kernels::all;      // from the header that lamina_add_layer()
//         generates static void reference(const Call &call); static void plan(const Call &call, Plan &plan);
//     };
//     LAMINA_PLUGIN(Scale)
//
// `inputs`, `weights`, `states` and `check` may be left out. A layer that replaces others has `fuses` instead of a
// reference. Functions report errors by throwing Invalid, Unsupported or another std::exception. No exception crosses
// the boundary.
#pragma once

#include <lamina/plugin/call.hpp>
#include <lamina/plugin/contract.hpp>
#include <lamina/plugin/plan.hpp>
#include <lamina/plugin/q8_cache.hpp>

#include <array>
#include <exception>
#include <new>

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
    } catch (const std::bad_alloc &) {
        host->error(host, "out of memory");
        return LAMINA_NO_MEMORY;
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

template <class L> lamina_status check(const lamina_call *call, const lamina_host *host) noexcept {
    return guarded(host, [&] { L::check(Call(*call)); });
}
template <class L> lamina_status reference(const lamina_call *call, const lamina_host *host) noexcept {
    return guarded(host, [&] { L::reference(Call(*call)); });
}
template <class L> lamina_status plan(const lamina_call *call, uint32_t variant, const lamina_host *host) noexcept {
    return guarded(host, [&] {
        const Call view(*call);
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
    if constexpr (requires { L::inputs; }) d.inputs = std::data(L::inputs), d.n_inputs = count(L::inputs);
    if constexpr (requires { L::weights; }) d.weights = std::data(L::weights), d.n_weights = count(L::weights);
    d.outputs = std::data(L::outputs), d.n_outputs = count(L::outputs);
    if constexpr (requires { L::states; }) d.states = std::data(L::states), d.n_states = count(L::states);
    d.kernels = std::data(L::kernels), d.n_kernels = count(L::kernels);
    d.variants = std::data(L::variants), d.n_variants = count(L::variants);
    d.tolerances = std::data(L::tolerances), d.n_tolerances = count(L::tolerances);
    d.cases = std::data(L::cases), d.n_cases = count(L::cases);
    d.param_size = sizeof(lamina_param), d.port_size = sizeof(lamina_port);
    d.variant_size = sizeof(lamina_variant), d.tolerance_size = sizeof(lamina_tolerance);
    if constexpr (requires(const Call &c) { L::check(c); }) d.check = check<L>;
    if constexpr (requires { L::fuses; })
        d.fuses = L::fuses;
    else
        d.reference = reference<L>;
    d.plan = plan<L>;
    if constexpr (requires { L::work; }) d.work = L::work;
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
