// Cooperative matrices: the shape that a device supports for a tile, and how a product is divided for them.
#pragma once

#include <lamina/plugin/plan.hpp>
#include <lamina/plugin/product_numbers.h>

#include <algorithm>

namespace lamina::plugin {

// The shape with operands in f16 and sums in f32 that divides a tile of rows x cols and a depth of `depth`, with the
// most multiply-adds. Throws Unsupported if there is none.
inline lamina_matrix_shape matrix_shape(const lamina_device &device, uint32_t rows, uint32_t cols, uint32_t depth) {
    lamina_matrix_shape best{};
    for (uint32_t i = 0; i < device.n_matrices; ++i) {
        const lamina_matrix_shape &s = element(device.matrices, i, device.matrix_size);
        const bool fits = s.in_dtype == LAMINA_F16 && s.acc_dtype == LAMINA_F32 && s.m != 0 && s.n != 0 && s.k != 0 &&
                          rows % s.m == 0 && cols % s.n == 0 && depth % s.k == 0 && s.k % 8 == 0;
        if (fits && uint64_t{s.m} * s.n * s.k > uint64_t{best.m} * best.n * best.k) best = s;
    }
    if (best.m == 0)
        throw Unsupported("the device has no cooperative matrices of f16, with sums in f32, that divide a tile");
    return best;
}

// How a workgroup computes a tile of a product: four subgroups have 32 x 32 sums each, and small subgroups beyond them
// help to load. Throws Unsupported if the device has no such shape, or not enough shared memory or invocations.
struct MatrixTiles {
    uint32_t depth; // values along K that are in shared memory at a time
    lamina_matrix_shape shape;
    uint32_t workgroup;

    // halves: of a value of X and one of W together, 2 to 4. Four of each leave no registers for the greater depth: on
    // an NVIDIA H200 it takes a product 0.6 times as long with two halves, and 1.8 times with four.
    MatrixTiles(const lamina_device &device, uint32_t halves)
        : depth(halves < 4 ? LAMINA_MATRIX_MOST_K : LAMINA_MATRIX_MOST_K / 2),
          shape(matrix_shape(device, LAMINA_MATRIX_OWN, LAMINA_MATRIX_OWN, depth)),
          workgroup(std::max(128u, subgroups * device.subgroup)) {
        const uint32_t shared = halves * LAMINA_MATRIX_TILE * (depth + 8) * 2; // bytes
        if (shared > device.shared_bytes || workgroup > device.max_invocations || workgroup > device.max_local[0])
            throw Unsupported("it needs " + std::to_string(shared) + " bytes of shared memory and " +
                              std::to_string(workgroup) + " invocations per workgroup, more than the device has");
        const uint32_t loads = LAMINA_MATRIX_TILE * depth / 8; // of eight values of each operand
        if (loads % workgroup != 0)
            throw Unsupported("it takes subgroups of up to " + std::to_string(loads / subgroups) +
                              " invocations, found " + std::to_string(device.subgroup));
    }

  private:
    static constexpr uint32_t subgroups =
        LAMINA_MATRIX_TILE / LAMINA_MATRIX_OWN * (LAMINA_MATRIX_TILE / LAMINA_MATRIX_OWN);
};

} // namespace lamina::plugin
