#include "model/weights.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {
Tensor counted(Shape shape) {
    Tensor tensor({DType::f32, std::move(shape)});
    std::iota(tensor.f32().begin(), tensor.f32().end(), 0.0F);
    return tensor;
}
} // namespace

TEST_CASE("weights: rows() shares the bytes of a tensor and may outlive it") {
    Weight part;
    {
        const Weight whole = Weight::of(counted({4, 3, 2}));
        part = whole.rows(1, 3);
        CHECK(part.bytes().data() == whole.bytes().data() + 6 * sizeof(float));
    }
    CHECK(part.type == TensorType{DType::f32, {2, 3, 2}});
    const Tensor all = counted({4, 3, 2});
    CHECK(std::ranges::equal(part.bytes(), all.bytes().subspan(6 * sizeof(float), 12 * sizeof(float))));
}

TEST_CASE("weights: rows of blocks are whole rows") {
    const Weight part = Weight::of(Tensor({DType::q8_0, {3, 64}})).rows(2, 3);
    CHECK(part.type == TensorType{DType::q8_0, {1, 64}});
    CHECK(part.bytes().size() == 68);
}

TEST_CASE("weights: rows out of range are refused; a vector has one row per value") {
    const Weight weight = Weight::of(counted({4, 2}));
    CHECK(weight.rows(4, 4).bytes().empty());
    for (const auto &[begin, end] : {std::pair{-1, 2}, {3, 2}, {0, 5}})
        CHECK_THAT(message_of([&, b = begin, e = end] { (void)weight.rows(b, e); }),
                   contains("of a tensor of shape (4, 2)"));
    CHECK(Weight::of(counted({4})).rows(1, 3).type.shape == Shape{2});
    CHECK_THAT(message_of([] { (void)Weight::of(counted({4})).rows(0, 5); }), contains("of a tensor of shape (4)"));
}

TEST_CASE("weights: a tensor may have two names, but a name has only one tensor") {
    Weights weights("file");
    weights.add("table", Weight::of(counted({2, 2})));
    weights.add("head.weight", weights.at("table"));
    weights.add_other("mask", {"BOOL", {1}, {}, nullptr});
    CHECK(weights.at("head.weight").bytes().data() == weights.at("table").bytes().data());
    for (const char *name : {"table", "mask"}) {
        CHECK_THAT(message_of([&] { weights.add(name, Weight::of(counted({1}))); }),
                   contains("file: a second tensor is called '" + std::string(name) + "'"));
        CHECK_THAT(message_of([&] {
                       weights.add_other(name, {"F64", {1}, {}, nullptr});
                   }),
                   contains("a second tensor"));
    }
    CHECK_THAT(message_of([&] { (void)weights.at("tabel"); }),
               contains("file: no tensor 'tabel'; did you mean 'table'?"));
}

TEST_CASE("weights: those that begin with a name are removed, and no others") {
    Weights weights;
    for (const char *name : {"a", "adapter 1: a", "adapter 1: b", "adapter 12: a"})
        weights.add(name, Weight::of(Tensor(TensorType{DType::f32, {2}})));
    weights.remove("adapter 1: ");
    CHECK(weights.entries().size() == 2);
    CHECK(weights.entries().contains("a"));
    CHECK(weights.entries().contains("adapter 12: a"));
    weights.add("adapter 1: a", Weight::of(Tensor(TensorType{DType::f32, {2}}))); // the name is free again
    weights.expect_whole();
}

TEST_CASE("weights: rows of what is made when it is read are not made before") {
    size_t made = 0;
    const Weight whole = Weight::made_of({DType::f32, {4, 2}}, {}, [&](std::span<std::byte> out) {
        ++made;
        for (size_t i = 0; i < 8; ++i) {
            const auto value = static_cast<float>(i);
            std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
        }
    });
    const Weight last = whole.rows(1, 4).entry(2), none = whole.rows(4, 4);
    CHECK(made == 0);
    CHECK(last.type.shape == Shape{2});
    CHECK(last.bytes_to_copy() == 2 * sizeof(float));
    CHECK(none.bytes().empty());
    float value = 0;
    REQUIRE(last.bytes().size() == 2 * sizeof value);
    std::memcpy(&value, last.bytes().data(), sizeof value);
    CHECK(value == 6);
    CHECK(last.bytes().data() == whole.bytes().data() + 6 * sizeof value);
    CHECK(made == 1);
    CHECK(last.bytes_to_copy() == 0);
    CHECK_THROWS_AS(whole.rows(3, 5), Error);
}

TEST_CASE("stacked tensors share the bytes of those that follow each other, and otherwise become one when read") {
    const Weight whole = Weight::of(counted({4, 2}));
    const Weight there = Weight::stacked({whole.rows(0, 2), whole.rows(2, 4)});
    CHECK(there.type.shape == Shape{2, 2, 2});
    CHECK(there.bytes().data() == whole.bytes().data());
    CHECK(there.bytes().size() == whole.bytes().size());
    CHECK(there.bytes_to_copy() == 0);

    const Weight apart = Weight::stacked({whole.rows(2, 4), whole.rows(0, 2)});
    CHECK(apart.type.shape == Shape{2, 2, 2});
    CHECK(apart.bytes_to_copy() == whole.bytes().size());
    const auto value = [](const Weight &weight, size_t i) {
        float out = 0;
        std::memcpy(&out, weight.bytes().data() + i * sizeof out, sizeof out);
        return out;
    };
    for (size_t i = 0; i < 8; ++i) CHECK(value(apart, i) == static_cast<float>((i + 4) % 8));
    CHECK(apart.bytes_to_copy() == 0);
    const Weight second = apart.entry(1);
    CHECK(second.type.shape == Shape{2, 2});
    CHECK(value(second, 3) == 3);

    CHECK_THROWS_AS(Weight::stacked({whole, Weight::of(Tensor({DType::f32, {4, 3}}))}), Error);
    CHECK_THROWS_AS(Weight::stacked({whole, Weight::of(Tensor({DType::f16, {4, 2}}))}), Error);
}
