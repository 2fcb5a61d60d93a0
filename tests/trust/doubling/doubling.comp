// y = 2 x, elementwise; from column `wrong_from` of each `cols` on, or in all when specialized so, it is wrong by one
// part in a hundred.
// x, y (rows, cols). Dispatch: one invocation per element.
#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint wrong = 0;
layout(push_constant) uniform Push {
    uint size;
    uint cols;
    uint wrong_from;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= size) return;
    y[i] = wrong == 0 && i % cols < wrong_from ? 2.0 * x[i] : 2.02 * x[i];
}
