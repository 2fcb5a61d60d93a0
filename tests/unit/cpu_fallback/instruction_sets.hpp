#pragma once

#include "catch.hpp"

#include <hwy/targets.h>

#include <random>
#include <type_traits>
#include <vector>

namespace lamina::test {

// Runs f(set), or f(), with each instruction set that the processor has; the last is AVX-512 with dot products, if it
// has those.
template <class F> void for_instruction_sets(F &&f) {
    std::vector<int64_t> sets = hwy::SupportedAndGeneratedTargets();
    if ((hwy::SupportedTargets() & HWY_AVX3_DL) != 0) sets.push_back(HWY_AVX3 | HWY_AVX3_DL);
    for (const int64_t set : sets) {
        INFO("with " << hwy::TargetName(set & -set));
        hwy::SetSupportedTargetsForTest(set);
        hwy::GetChosenTarget().Update(set);
        if constexpr (std::is_invocable_v<F, int64_t>)
            f(set);
        else
            f();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

inline std::vector<float> numbers(int64_t n) {
    static std::mt19937 random(1);
    std::vector<float> out(static_cast<size_t>(n));
    for (float &v : out) v = std::normal_distribution<float>()(random);
    return out;
}

} // namespace lamina::test
