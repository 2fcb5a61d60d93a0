// Sums and maxima over a workgroup of 64; all invocations get the result. They use shared memory. With SUBGROUP
// defined, subgroups of any size first reduce their own values, which leaves fewer.
//
// The whole workgroup must reach every call. Consecutive calls must alternate between slots 0 and 1, so that no call
// has to wait for the one before.

#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_arithmetic : require
#define JOINED(join, v) join(v)
#define IS_FIRST subgroupElect()
#define PART gl_SubgroupID
#define PARTS gl_NumSubgroups
#else
#define JOINED(join, v) v
#define IS_FIRST true
#define PART gl_LocalInvocationID.x
#define PARTS 64u
#endif

shared float workgroup_part[2][64];

float workgroup_sum(float v, uint slot) {
    const float part = JOINED(subgroupAdd, v);
    if (IS_FIRST) workgroup_part[slot][PART] = part;
    barrier();
    float sum = 0.0;
    for (uint i = 0u; i < PARTS; ++i) sum += workgroup_part[slot][i];
    return sum;
}

// The values must not be NaN, because drivers differ in how they compare NaN.
float workgroup_maximum(float v, uint slot) {
    const float part = JOINED(subgroupMax, v);
    if (IS_FIRST) workgroup_part[slot][PART] = part;
    barrier();
    float maximum = part;
    for (uint i = 0u; i < PARTS; ++i) {
        if (workgroup_part[slot][i] > maximum) maximum = workgroup_part[slot][i];
    }
    return maximum;
}
