// The instruction sets that SIMD code is compiled for. Included before Highway.

// GCC 12.2 miscompiles MulHigh for EMU128, which is not used here.
#define HWY_BROKEN_EMU128 0
// Vectors are stored in arrays here, so their size must be known at compile time. And what the others have beyond SSE4
// and AVX-512 is not used.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3 | (HWY_AVX3 - 1))
