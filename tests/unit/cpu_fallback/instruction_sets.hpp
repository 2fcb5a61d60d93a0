#pragma once

#include "catch.hpp"

#include <hwy/targets.h>

#include <random>
#include <vector>

namespace lamina::test {

// Runs f with each instruction set that the processor has.
template <class F> void for_instruction_sets(F &&f) {
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        INFO("with " << hwy::TargetName(target));
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(target);
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
