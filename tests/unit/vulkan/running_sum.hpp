// A layer for tests of the runtime. Its plan contains everything that a plan can, in three dependent dispatches.
#pragma once

#include "abi/library.hpp"

#include <lamina/plugin.hpp>

#include "running_sum.kernels.hpp"

namespace test {

struct RunningSum { // sum += x * {1, 2, 3, 4}, in turn; y = sum
    static constexpr auto id = "running_sum";
    static constexpr auto summary = "the sum over all runs of x times a constant";
    static constexpr auto source = "";
    static constexpr std::array inputs{lamina::plugin::input("x", "N", "")};
    static constexpr std::array outputs{lamina::plugin::output("y", "N", "")};
    static constexpr std::array states{lamina::plugin::state("sum", "N", nullptr, "")};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        lamina::plugin::baseline("three dispatches"),
        lamina::plugin::variant("impossible", "needs what no device has", 1ull << 63),
        lamina::plugin::variant("same", "the baseline again", 0),
    };
    static constexpr std::array tolerances{lamina::plugin::tolerance(1e-6, 0)};
    static constexpr std::array cases{"N=5"};

    static void reference(const lamina::plugin::Call &call) {
        const auto x = call.in("x").f32(), y = call.out("y").f32(), sum = call.state("sum").f32();
        for (size_t i = 0; i < x.size(); ++i) y[i] = sum[i] += x[i] * static_cast<float>(i % 4 + 1);
    }

    static void plan(const lamina::plugin::Call &call, lamina::plugin::Plan &plan) {
        const uint32_t n = lamina::plugin::u32(call.in("x").size());
        std::array<float, 4> values{1, 2, 3, 4};
        const lamina_ref factor = plan.constant(std::span<float>(values));
        const lamina_ref product = plan.scratch(n * int64_t{4});
        for (uint32_t phase = 0; phase < 3; ++phase)
            plan.dispatch(lamina_kernels::running_sum, {lamina::plugin::ceil_div(n, 64)},
                          {plan.in("x"), factor, product, plan.state("sum"), plan.out("y")}, n, {{0, phase}});
    }
};

inline lamina::abi::Layer running_sum() {
    return {&lamina::plugin::detail::descriptor<RunningSum>(), "running_sum", 0};
}

} // namespace test
