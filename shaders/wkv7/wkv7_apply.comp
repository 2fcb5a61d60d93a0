// The memories of RWKV-7, chunk by chunk: see chunk_apply.glsl. wkv7_chunk.comp finds what chunks do.
//
// value, first_value, first_share, y (sequences, steps, heads, value_dim); position, lengths (sequences); memory
// (sequences, heads, key_dim, value_dim); chunks (sequences, heads, chunks, ...).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/workgroup.glsl"
#include "wkv7/token.glsl"

layout(local_size_x = 64) in;
WKV7_PUSH
layout(std430, set = 0, binding = 0) readonly buffer Value { float value[]; };
layout(std430, set = 0, binding = 1) readonly buffer FirstValue { float first_value[]; };
layout(std430, set = 0, binding = 2) readonly buffer FirstShare { float first_share[]; };
layout(std430, set = 0, binding = 3) readonly buffer Position { int position[]; };
layout(std430, set = 0, binding = 4) readonly buffer Lengths { int lengths[]; };
layout(std430, set = 0, binding = 5) readonly buffer Chunks { vec4 chunks[]; };
layout(std430, set = 0, binding = 6) buffer Memory { float memory[]; };
layout(std430, set = 0, binding = 7) writeonly buffer Y { float y_of[]; };
layout(constant_id = 1) const bool MIXES = false;
layout(constant_id = 2) const bool HAS_LENGTHS = false;
layout(constant_id = 4) const bool HAS_MEMORY = false; // else it is only written

float chunk_value(uint sequence, uint t, uint head, uint column) {
    const uint at = ((sequence * steps + t) * heads + head) * value_dim + column;
    return MIXES ? mixed(value[at], first_value[at], first_share[at]) : value[at];
}
void chunk_write(uint sequence, uint t, uint head, uint column, float y) {
    y_of[((sequence * steps + t) * heads + head) * value_dim + column] = y;
}

#define CHUNK_ADDS 1u
#define CHUNK_CORRECTS 1u
#define CHUNK_FADED(value, fade) ((value) * (fade))
#include "common/chunk_apply.glsl"
