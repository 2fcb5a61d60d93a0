// Where a row of x stands: the position that it is encoded with. Rows are those of (B, T, C) or (T, B, C), told apart by
// their strides; offset (B) is the position of each sequence's first row, and reads as zeros when it was left out.

layout(constant_id = 0) const bool has_offset = true;

uint position_of(uint row) {
    const uint t = (row / time_stride) % length;
    const uint b = (row / batch_stride) % batch;
    return (has_offset ? offset[b] : 0u) + t;
}
