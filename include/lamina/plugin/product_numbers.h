/* The numbers that product.hpp and the kernels in shaders/product/ share: C++ and GLSL read them alike. */
#ifndef LAMINA_PLUGIN_PRODUCT_NUMBERS_H
#define LAMINA_PLUGIN_PRODUCT_NUMBERS_H

/* What happens to a finished sum. */
#define LAMINA_NONE 0u
#define LAMINA_RELU 1u
#define LAMINA_GELU 2u
#define LAMINA_GELU_TANH 3u
#define LAMINA_SILU 4u
#define LAMINA_TANH 5u

#define LAMINA_ADD 1u
#define LAMINA_MULTIPLY 2u

/* Specialization constants. */
#define LAMINA_OF_WEIGHT 0
#define LAMINA_OF_BIAS 1
#define LAMINA_OF_ACTIVATION 2
#define LAMINA_OF_COMBINE 3
#define LAMINA_OF_TILE_ROWS 4
#define LAMINA_OF_SHARE 5
/* Of product_matrix.comp, in place of the last two. Without a gap: the validation layers of Debian 13 take the number of a
 * constant for its place in the list. */
#define LAMINA_OF_WORKGROUP 4
#define LAMINA_OF_MATRIX_M 5
#define LAMINA_OF_MATRIX_N 6
#define LAMINA_OF_MATRIX_K 7

/* Tiles: rows x columns of Y that a workgroup computes. */
#define LAMINA_REGISTER_ROWS 16u /* at most: a specialization constant */
#define LAMINA_REGISTER_COLS 128u
#define LAMINA_SHARED_ROWS 64u
#define LAMINA_SHARED_COLS 64u
#define LAMINA_MATRIX_DEPTH 32u /* along K, of tiles of cooperative matrices */
#define LAMINA_FEW_ROWS 8u /* at most: a specialization constant */
#define LAMINA_FEW_COLS 4u

/* Weights in blocks, packed: columns of a tile, and groups of 16 bytes that hold a block of 34 bytes of each. */
#define LAMINA_PACKED_COLS 32u
#define LAMINA_PACKED_BLOCK_GROUPS 68u
/* How many invocations load values of X for each other, or half as many: a specialization constant. */
#define LAMINA_PACKED_SHARE 8u

#endif
