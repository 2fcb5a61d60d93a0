// What a token of RWKV-7 writes: for the kernel of its memories, and the one of what they give.

#ifndef LAMINA_WKV7_TOKEN_GLSL
#define LAMINA_WKV7_TOKEN_GLSL

#include "common/activation.glsl"

#define WKV7_PUSH                       \
    layout(push_constant) uniform Push { \
        uint sequences;                 \
        uint steps;                     \
        uint heads;                     \
        uint key_dim;                   \
        uint value_dim;                 \
        float eps;                      \
        float key_eps;                  \
    };

float sigmoid(float v) { return times_sigmoid(1.0, v); }

// `share`: how much of the old value is replaced.
float written_key(float key, float share, float key_rate) { return key * (1.0 + (share - 1.0) * key_rate); }

// A value with what it takes over from the model's first layer.
float mixed(float value, float first, float share) { return value + (first - value) * sigmoid(share); }

#endif
