// What a step of the result is. Include it after steps.glsl.
#include "common/activation.glsl"
#include "common/weight.glsl"

WEIGHT(weight, 3, 2)
WEIGHT(bias, 4, 3)
layout(constant_id = 4) const uint ACTIVATION = LAMINA_NONE;
layout(std430, set = 0, binding = 5) writeonly buffer Y { float y[]; };

void compute(uint b, uint t, uint c) {
    float sum = bias(c);
    for (uint k = 0u; k < WIDTH; ++k) sum += weight(c * WIDTH + k) * step_at(b, int(t + k) - int(WIDTH) + 1, c);
    y[(b * steps + t) * channels + c] = activate(ACTIVATION, sum);
}
