// The position of a row of x, which is (B, T, C) or (T, B, C) according to the strides. offset (B) is the position of
// each sequence's first row; it reads as zeros if it was left out.

layout(constant_id = 0) const bool has_offset = true;

uint position_of(uint row) {
    const uint t = (row / time_stride) % length;
    const uint b = (row / batch_stride) % batch;
    return (has_offset ? offset[b] : 0u) + t;
}
