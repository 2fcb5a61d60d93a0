// The selective scan of Mamba-2, chunk by chunk: see chunk_apply.glsl. selective_scan_chunk.comp finds what chunks do.
//
// x (sequences, steps, values | keys | queries); position, lengths (sequences); state (sequences, heads, state_dim,
// value_dim), which is `memory` here; chunks (sequences, heads, chunks, ...); y (sequences, steps, heads, value_dim).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/workgroup.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint sequences;
    uint steps;
    uint heads;
    uint groups;
    uint key_dim; // state_dim
    uint value_dim;
    float min_step;
    float max_step;
};
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 2) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 3) readonly buffer Chunks { vec4 chunks[]; };
layout(std430, set = 0, binding = 4) buffer State { float memory[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Y { float y_of[]; };
layout(constant_id = 3) const bool HAS_MEMORY = false; // else it is only written
layout(constant_id = 4) const bool HAS_LENGTHS = false;

float chunk_value(uint sequence, uint t, uint head, uint column) {
    const uint row = (sequence * steps + t) * (heads * value_dim + 2u * groups * key_dim);
    return x[row + head * value_dim + column];
}
void chunk_write(uint sequence, uint t, uint head, uint column, float y) {
    y_of[((sequence * steps + t) * heads + head) * value_dim + column] = y;
}

#define CHUNK_ADDS 1u
#define CHUNK_CORRECTS 0u
#define CHUNK_FADED(value, lost) ((value) + (lost) * (value))
#include "common/chunk_apply.glsl"
