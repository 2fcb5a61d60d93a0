// Hyperbolic tangent, safe at any x and accurate to a few 1e-7; NaN stays NaN. GLSL's tanh may overflow internally.

#ifndef LAMINA_TANH_GLSL
#define LAMINA_TANH_GLSL

float safe_tanh(float x) {
    const float a = abs(x), square = a * a;
    if (a > 9.1) return sign(x); // closer to 1 than floats are
    const float t = a < 0.1 ? a * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0 - square * (17.0 / 315.0))))
                            : 1.0 - 2.0 / (exp(2.0 * a) + 1.0);
    return x < 0.0 ? -t : t;
}

#endif
