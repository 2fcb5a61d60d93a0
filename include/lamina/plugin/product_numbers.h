/* Constants shared by product.hpp and the kernels in shaders/product/, for both C++ and GLSL. */
#ifndef LAMINA_PLUGIN_PRODUCT_NUMBERS_H
#define LAMINA_PLUGIN_PRODUCT_NUMBERS_H

/* How a sum is finished. */
#define LAMINA_NONE 0u
#define LAMINA_RELU 1u
#define LAMINA_GELU 2u
#define LAMINA_GELU_TANH 3u
#define LAMINA_SILU 4u
#define LAMINA_TANH 5u
#define LAMINA_QUICK_GELU 6u
#define LAMINA_SIGMOID 7u
#define LAMINA_RELU2 8u
#define LAMINA_LAST_ACTIVATION LAMINA_RELU2

#define LAMINA_ADD 1u
#define LAMINA_MULTIPLY 2u

/* Specialization constants. */
#define LAMINA_OF_WEIGHT 0
#define LAMINA_OF_BIAS 1
#define LAMINA_OF_ACTIVATION 2
#define LAMINA_OF_TILE_ROWS 3
#define LAMINA_OF_SHARE 4
/* For product_matrix.comp, instead of all but the first two. The ids have no gap, because the validation layers of
 * Debian 13 confuse the id of a constant with its index. */
#define LAMINA_OF_WORKGROUP 2
#define LAMINA_OF_MATRIX_M 3
#define LAMINA_OF_MATRIX_N 4
#define LAMINA_OF_MATRIX_K 5
#define LAMINA_OF_MATRIX_DEPTH 6
#define LAMINA_OF_ONE_PRODUCT 7

/* Tiles: rows x columns of Y that a workgroup computes. */
#define LAMINA_REGISTER_ROWS 16u /* at most: a specialization constant */
#define LAMINA_REGISTER_COLS 128u
#define LAMINA_TILED_ROWS 64u /* at most: a specialization constant, from which the columns follow */
#define LAMINA_LARGE_ROWS 128u
#define LAMINA_MATRIX_TILE 64u   /* rows and columns, by cooperative matrices */
#define LAMINA_MATRIX_OWN 32u    /* rows and columns of a subgroup */
#define LAMINA_MATRIX_MOST_K 64u /* values along K at a time, at most: a specialization constant */
#define LAMINA_FEW_ROWS 8u       /* at most: a specialization constant */
#define LAMINA_FEW_COLS 4u

/* Packed weights in blocks: columns per tile, and groups of 16 bytes for one block (34 bytes) of each column. */
#define LAMINA_PACKED_COLS 32u
#define LAMINA_PACKED_BLOCK_GROUPS 68u
/* How many invocations share their loads of X. A specialization constant may halve it. */
#define LAMINA_PACKED_SHARE 8u

#endif
