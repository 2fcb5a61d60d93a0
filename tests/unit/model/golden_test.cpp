// The block formats are those of GGML: golden/make.py uses GGML's own package.
#include "base/storage.hpp"
#include "model/codebooks.hpp"
#include "model/safetensors.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

using namespace lamina;

namespace {

model::Weights golden() {
    return model::open_safetensors(LAMINA_SOURCE_DIR "/tests/unit/model/golden/blocks.safetensors").weights;
}

Tensor copy_of(const model::Weight &weight) {
    Tensor out(weight.type);
    std::ranges::copy(weight.bytes(), out.bytes().begin());
    return out;
}

std::vector<plugin::StorageType> block_types() {
    std::vector<plugin::StorageType> out;
    std::ranges::copy_if(plugin::storage_types, std::back_inserter(out), &plugin::StorageType::in_blocks);
    return out;
}

} // namespace

TEST_CASE("blocks: widening makes GGML's values, bit for bit") {
    const model::Weights file = golden();
    for (const plugin::StorageType &type : block_types()) {
        if (type.dtype == LAMINA_I8_K || type.dtype == LAMINA_I4_K) continue; // not one of GGML's: see the next test
        INFO(type.name);
        const Tensor blocks = copy_of(file.at(type.name));
        REQUIRE(blocks.dtype() == DType{type.dtype});
        CHECK(std::ranges::equal(widened(blocks).bytes(), file.at(std::string(type.name) + ".widened").bytes()));
    }
}

TEST_CASE("blocks: what codebooks stand for is GGML's values, too") {
    const model::Weights file = golden();
    REQUIRE(file.others().size() == 9);
    for (const auto &[name, stored] : file.others()) {
        INFO(name);
        const model::Codebook *codebook = model::codebook_of(name);
        REQUIRE(codebook != nullptr);
        CHECK(stored.shape.back() == codebook->block_bytes);
        const Shape shape{stored.shape.at(0), stored.shape.at(1) * 256};
        const model::Weight made = model::by_codebook(*codebook, shape, stored.stored, stored.owner);
        const Tensor expected = copy_of(file.at(name + ".widened")), found = widened(copy_of(made));
        // Not bit for bit: a zero may have another sign.
        CHECK(std::ranges::equal(found.f32(), expected.f32()));
    }
}

TEST_CASE("blocks: narrowing makes GGML's bytes, where its package narrows") {
    const model::Weights file = golden();
    const Tensor values = copy_of(file.at("values"));
    for (const char *name : {"q8_0", "q4_0", "q4_1", "q5_0", "q5_1"}) {
        INFO(name);
        const model::Weight &blocks = file.at(name);
        CHECK(std::ranges::equal(narrowed(values, blocks.type.dtype).bytes(), blocks.bytes()));
    }
}

TEST_CASE("blocks: the error is at most one step of the format") {
    const Tensor values = copy_of(golden().at("values").rows(0, 1));
    const auto size = [](float v) { return std::abs(v); };
    const float largest = size(*std::ranges::max_element(values.f32(), {}, size));
    for (const plugin::StorageType &type : block_types()) {
        INFO(type.name);
        const float step = largest / std::exp2(static_cast<float>(type.block_bytes * 8 / type.block_values - 1));
        const Tensor back = widened(narrowed(values, DType{type.dtype}));
        for (size_t i = 0; i < values.f32().size(); ++i) CHECK(size(back.f32()[i] - values.f32()[i]) <= 1.05F * step);
    }
}
