// Formats in blocks are those of GGML: golden/make.py asks its own package.
#include "base/storage.hpp"
#include "model/safetensors.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <algorithm>

using namespace lamina;

TEST_CASE("blocks: narrowing makes GGML's bytes, and widening GGML's values, bit for bit") {
    const auto file = model::open_safetensors(LAMINA_SOURCE_DIR "/tests/unit/model/golden/blocks.safetensors").weights;
    const auto tensor = [&](const std::string &name) { return file.entries().at(name); };
    const auto values = tensor("values");
    Tensor wide(values.type);
    std::ranges::copy(values.bytes, wide.bytes().begin());
    for (const plugin::StorageType &type : plugin::storage_types) {
        if (!type.in_blocks()) continue;
        INFO(type.name);
        const auto blocks = tensor(type.name), expected = tensor(std::string(type.name) + ".widened");
        REQUIRE(blocks.type == TensorType{DType{type.dtype}, values.type.shape});
        CHECK(std::ranges::equal(narrowed(wide, DType{type.dtype}).bytes(), blocks.bytes));
        Tensor back(values.type);
        widen(blocks.type.dtype, blocks.bytes, back.f32());
        CHECK(std::ranges::equal(back.bytes(), expected.bytes));
    }
}
