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

/* Tiles: rows x columns of Y that a workgroup computes. */
#define LAMINA_REGISTER_ROWS 16u /* at most: a specialization constant */
#define LAMINA_REGISTER_COLS 128u
#define LAMINA_SHARED_ROWS 64u
#define LAMINA_SHARED_COLS 64u
#define LAMINA_FEW_ROWS 8u /* at most: a specialization constant */
#define LAMINA_FEW_COLS 4u

#endif
