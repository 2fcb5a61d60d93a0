// The CPU kernels. They compute the layers of the same names.
#pragma once

#include <lamina/plugin/executor.hpp>

namespace lamina::plugin::cpu_fallback {

void activation(const Call &call);
void append(const Call &call);
void attention(const Call &call);
void causal_conv1d(const Call &call);
void conv1d(const Call &call);
void cut(const Call &call);
void disentangled_attention(const Call &call);
void embedding(const Call &call);
void gated_delta_rule(const Call &call);
void gather(const Call &call);
void grouped_conv1d(const Call &call);
void instance_norm(const Call &call);
void layer_norm(const Call &call);
void layout_bias(const Call &call);
void layout_embedding(const Call &call);
void log_mel(const Call &call);
void log_softmax(const Call &call);
void positional_encoding(const Call &call);
void rms_norm(const Call &call);
void rotary(const Call &call);
void selective_scan(const Call &call);
void softmax(const Call &call);
void top_k(const Call &call);
void wkv7(const Call &call);

// With x in so many digits where weights have few bits (strips.hpp), else as floats.
template <int XDigits> void experts(const Call &call);
template <int XDigits> void feed_forward(const Call &call);
template <int XDigits> void grouped_linear(const Call &call);
template <int XDigits> void linear(const Call &call);

} // namespace lamina::plugin::cpu_fallback
