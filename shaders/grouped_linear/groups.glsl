// product.glsl where each group of channels has a matrix of its own.
//
// W is a stack of matrices (groups, cols, inner), of which a window is bound: `count` from group `first` on. A row of X
// is `groups` rows of `inner` values, and a row of Y as many of `cols`. A tile has rows of one group; the tiles of all
// groups of the window take turns.

uint group; // of the tile

#define ROWS_END rows
#define FINISHED(sum) sum

// False if there is no such tile.
bool find_rows(uint tile, out uint first_row) {
    group = first + tile % count, first_row = tile / count * tile_rows;
    return first_row < rows;
}

uint x_row(uint row) { return min(row, rows - 1u) * groups + group; } // rows beyond the edge repeat the last one
uint w_row(uint col) { return (group - first) * cols + min(col, cols - 1u); }
uint y_row(uint row) { return row * groups + group; }
uint z_row(uint row) { return y_row(row); }
float bias_at(uint) { return 0.0; }
