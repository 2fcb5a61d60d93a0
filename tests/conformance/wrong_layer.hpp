// A layer that is wrong on purpose.
#pragma once

#include "abi/library.hpp"

namespace test {

// What a plan gets wrong about the dispatch of layer_norm.
struct Mistake {
    int32_t extra_rows = 0;  // claimed beside those that are there
    uint64_t bytes_of_x = 0; // bound, of all those that the kernel reads; 0: all
};

// layer_norm with its own kernel and a plan that makes this mistake. Each call changes what the layers of earlier calls
// do.
[[nodiscard]] lamina::abi::Layer layer_norm_with(Mistake mistake);

} // namespace test
