// A layer that is wrong on purpose.
#pragma once

#include "abi/library.hpp"

namespace test {

// A mistake of a plan in the dispatch of layer_norm.
struct Mistake {
    int32_t extra_rows = 0;  // claimed in addition to the actual ones
    uint64_t bytes_of_x = 0; // bound, of those that the kernel reads; 0: all
};

// layer_norm with its own kernel and a plan that makes this mistake. Each call changes what the layers of earlier calls
// do.
[[nodiscard]] lamina::abi::Layer layer_norm_with(Mistake mistake);

} // namespace test
