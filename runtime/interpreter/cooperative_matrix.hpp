// Cooperative matrices: each is held by a whole subgroup, and its elements are spread over the invocations.
#pragma once

#include <lamina/plugin.h>

#include <cstdint>

namespace lamina::interpreter {

// The only shape. Its three sizes differ, so that a kernel that takes one of them for another is found.
inline constexpr lamina_matrix_shape matrix_shape{32, 16, 8, LAMINA_F16, LAMINA_F32};

// Not in every release of the SPIR-V headers; nor is op_type_cooperative_matrix in types.hpp.
inline constexpr uint32_t op_cooperative_matrix_load = 4457, op_cooperative_matrix_store = 4458,
                          op_cooperative_matrix_multiply_add = 4459, op_cooperative_matrix_length = 4460;

} // namespace lamina::interpreter
