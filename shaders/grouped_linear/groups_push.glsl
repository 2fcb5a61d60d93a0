// Makes product.glsl that of groups of channels: include it before.

#define STACKED
#define GROUPED

// What it has beside the sizes of a product. first_col is 0, and y_cols is cols.
#define STACKED_PUSH   \
    uint first, count; \
    uint groups;       \
    uint tile_rows;
