// Makes product.glsl that of chosen experts: include it before.

#define STACKED

// What it has beside the sizes of a product. first_col is 0, and y_cols is cols.
#define STACKED_PUSH   \
    uint first, count; \
    uint per_token;    \
    uint tile_count;   \
    float limit, alpha, offset;
