// What the kernels that sum over time share. A workgroup of 256, as 32 x 8, has 32 channels and takes rows or chunks
// eight at a time.

const uint CHUNK = 256u; // steps

layout(local_size_x = 256) in;

layout(constant_id = 0) const bool HAS_LENGTHS = false;

layout(push_constant) uniform Push {
    uint batch;
    uint steps;
    uint cols;
    float eps;
};

shared float part[8][32];

// The sum of what the eight invocations of a channel have. The whole workgroup must reach every call.
float sum_of_eight(uint low, uint high, float v) {
    barrier(); // an earlier sum is no longer needed
    part[high][low] = v;
    barrier();
    float sum = 0.0;
    for (uint i = 0u; i < 8u; ++i) sum += part[i][low];
    return sum;
}
