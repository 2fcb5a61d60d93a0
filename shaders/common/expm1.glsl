// exp(x) - 1 for x up to 0. Near 0, exp(x) has lost the digits that count; there it is a series.

#ifndef LAMINA_EXPM1_GLSL
#define LAMINA_EXPM1_GLSL

float expm1(float x) {
    if (x < -0.5) return exp(x) - 1.0;
    float sum = 1.0 + x / 8.0;
    sum = 1.0 + x / 7.0 * sum;
    sum = 1.0 + x / 6.0 * sum;
    sum = 1.0 + x / 5.0 * sum;
    sum = 1.0 + x / 4.0 * sum;
    sum = 1.0 + x / 3.0 * sum;
    sum = 1.0 + x / 2.0 * sum;
    return x * sum;
}

#endif
