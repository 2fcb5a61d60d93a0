// log(1 + exp(v)). GLSL's log() is not exact enough near 1: log(1 + u) = 2 artanh(u / (2 + u)), as a series.

#ifndef LAMINA_SOFTPLUS_GLSL
#define LAMINA_SOFTPLUS_GLSL

float softplus(float v) {
    const float u = exp(-abs(v)), s = u / (2.0 + u), q = s * s;
    const float series = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q / 13.0)))));
    return max(v, 0.0) + 2.0 * s * series;
}

#endif
