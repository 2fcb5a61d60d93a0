// What kernels that take 16 tokens at a time have in memory: shaders/common/chunk.glsl has the maths.
#pragma once

#include <lamina/plugin/plan.hpp>

namespace lamina::plugin {

// For a layer whose memories have key_dim rows. Throws Unsupported if `steps` is less than a chunk, or if a memory has
// more rows than the kernels take.
struct Chunks {
    enum Products : uint8_t { adds = 1, corrects = 2 }; // what changes a memory: values, corrections

    Chunks(int64_t steps, int64_t key_dim, int products)
        : count(ceil_div(steps, tokens)), rows{10, static_cast<uint32_t>(ceil_div(key_dim, 16))} {
        constexpr int64_t most = 128;
        if (steps < tokens)
            throw Unsupported("there are " + std::to_string(steps) + " steps; expected at least " +
                              std::to_string(tokens));
        if (key_dim > most)
            throw Unsupported("a key has " + std::to_string(key_dim) + " channels; expected at most " +
                              std::to_string(most));
        const int64_t dim = 16 * static_cast<int64_t>(rows.bits), matrix = tokens * dim, own = tokens * tokens;
        floats_ = matrix + own + dim;
        if ((products & adds) != 0) floats_ += matrix;
        if ((products & corrects) != 0) floats_ += 2 * matrix + own;
    }

    // Of all chunks of so many memories. Throws Unsupported if the device has no binding of this size.
    [[nodiscard]] int64_t bytes(const Call &call, int64_t memories) const {
        (void)u32(memories * count * floats_); // kernels count in 32 bits
        const int64_t bytes = memories * count * floats_ * static_cast<int64_t>(sizeof(float));
        if (const uint64_t most = call.device().max_binding_bytes; static_cast<uint64_t>(bytes) > most)
            throw Unsupported("what chunks do takes " + std::to_string(bytes) +
                              " bytes, above the device's binding limit of " + std::to_string(most));
        return bytes;
    }

    static constexpr int64_t tokens = 16;
    int64_t count;    // of a sequence
    lamina_spec rows; // of a memory, in sixteens: CHUNK_ROWS of common/chunk.glsl

  private:
    int64_t floats_;
};

} // namespace lamina::plugin
