// (sine, cosine) of the angle by which a pair of channels is rotated: by the position of a row, or by its coordinates on
// `axes` axes.
//
// frequencies (axes, pairs), in radians per position; coordinates (rows, axes); include sinusoid.glsl first.

vec2 turn_of(uint position, uint pair) {
    const float frequency = frequencies[pair];
    const vec2 turn = sine_cosine(phase(position, turns_of(frequency)));
    return vec2(frequency < 0.0 ? -turn.x : turn.x, turn.y);
}

// Most pairs turn with one axis alone.
vec2 turn_at(uint row, uint pair) {
    uint sum = 0u;
    for (uint axis = 0u; axis < axes; ++axis) {
        const float frequency = frequencies[axis * pairs + pair];
        if (frequency == 0.0) continue;
        const uint part = phase(coordinates[row * axes + axis], turns_of(frequency));
        sum += frequency < 0.0 ? ~part + 1u : part;
    }
    return sine_cosine(sum);
}
