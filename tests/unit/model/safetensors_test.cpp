#include "model/safetensors.hpp"

#include "base/peak_memory.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

using lamina::DType;
using lamina::Tensor;
using lamina::TensorType;
using lamina::model::open_safetensors;
using lamina::model::Safetensors;
using lamina::model::Weights;
using lamina::model::write_safetensors;
using matchers::contains;

namespace {
// A file of this header and as many bytes of data.
std::string file_of(const std::string &header, size_t data_bytes) {
    std::string out(8, '\0');
    const uint64_t length = header.size();
    std::memcpy(out.data(), &length, sizeof length);
    return out + header + std::string(data_bytes, '\x11');
}
std::string refusal_of(const std::string &bytes) {
    const TemporaryFolder folder;
    return message_of([&] { (void)open_safetensors(folder.write("w.safetensors", bytes)); });
}
std::string header_refusal(const std::string &header, size_t data_bytes = 0) {
    return refusal_of(file_of(header, data_bytes));
}

// One F32 tensor "t" of two elements, with this in the place of its shape or offsets.
std::string shaped(const std::string &shape) {
    return R"({"t": {"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": [0, 8]}})";
}
std::string placed(const std::string &offsets) {
    return R"({"t": {"dtype": "F32", "shape": [2], "data_offsets": )" + offsets + "}}";
}
} // namespace

TEST_CASE("safetensors: what is written is read back") {
    const TemporaryFolder folder;
    const std::map<std::string, Tensor, std::less<>> tensors{
        {"a.f32", Tensor::of({2, 2}, std::vector<float>{1, -2, 3.5f, 0})},
        {"b.i32", Tensor::of({3}, std::vector<int32_t>{1, 2, -3})},
        {"c.f16", Tensor({DType::f16, {5}})},
        {"d.bf16", Tensor({DType::bf16, {1, 3}})},
        {"e.empty", Tensor({DType::f32, {0, 7}})},
        {"f.blocks", Tensor({DType::q8_0, {2, 3, 64}})},
        {"f.scalar", Tensor::of({}, std::vector<float>{4})},
        {"g \"quoted\" \xC3\xA9", Tensor({DType::i32, {1}})},
    };
    write_safetensors(folder.path() / "w", tensors, {{"made by", "a test"}});
    const Safetensors read = open_safetensors(folder.path() / "w");
    REQUIRE(read.weights.entries().size() == tensors.size());
    for (const auto &[name, tensor] : tensors) {
        CAPTURE(name);
        const auto &entry = read.weights.entries().at(name);
        CHECK(entry.type == tensor.type());
        CHECK(std::equal(entry.bytes().begin(), entry.bytes().end(), tensor.bytes().begin(), tensor.bytes().end()));
    }
    CHECK(read.metadata.at("made by") == "a test");
    CHECK(read.weights.others().empty());
    CHECK(read.weights.entries().at("a.f32").bytes().data() != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(read.weights.entries().at("a.f32").bytes().data()) % 4 == 0);
}

TEST_CASE("safetensors: weights in blocks are stored as bytes, and the metadata gives their format") {
    const std::string blocks = R"({"__metadata__": {"t.dtype": "q8_0"}, "t": {"dtype": )",
                      offsets = R"(, "data_offsets": [0, 136]}})";
    const TemporaryFolder folder;
    const std::string header = blocks + R"("U8", "shape": [2, 2, 34])" + offsets;
    CHECK(open_safetensors(folder.write("w", file_of(header, 136))).weights.entries().at("t").type ==
          TensorType{DType::q8_0, {2, 64}});

    const char *expected = "tensor 't' is q8_0 by the metadata: expected U8 of shape (..., blocks per row, 34), found ";
    CHECK_THAT(header_refusal(blocks + R"("U8", "shape": [2, 68])" + offsets, 136),
               contains(expected + std::string("U8 (2, 68)")));
    CHECK_THAT(header_refusal(blocks + R"("F32", "shape": [1, 34])" + offsets, 136),
               contains(expected + std::string("F32 (1, 34)")));
    CHECK_THAT(header_refusal(R"({"__metadata__": {"t.dtype": "q8_0"}, "t": {"dtype": "U8",
                           "shape": [0, 4611686018427387904, 34], "data_offsets": [0, 0]}})"),
               contains("overflows 64 bits"));
}

TEST_CASE("safetensors: bytes without a known format in the metadata cannot be used by a layer") {
    for (const char *note : {"", R"("__metadata__": {"t.dtype": "q9_9"}, )"}) {
        const TemporaryFolder folder;
        const std::string header =
            "{" + std::string(note) + R"("t": {"dtype": "U8", "shape": [1, 34], "data_offsets": [0, 34]}})";
        CHECK(open_safetensors(folder.write("w", file_of(header, 34))).weights.others().contains("t"));
    }
}

TEST_CASE("safetensors: the length, the header padded to 8 bytes, then wide elements before narrow ones") {
    const TemporaryFolder folder;
    write_safetensors(folder.path() / "w", {{"a", Tensor({DType::f16, {1}})}, {"b", Tensor::of({1}, std::vector{7})}});
    const std::string header = R"({"b":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                               R"("a":{"dtype":"F16","shape":[1],"data_offsets":[4,6]}}     )";
    CHECK(folder.read("w") == file_of(header, 0) + std::string("\7\0\0\0"
                                                               "\0\0",
                                                               6));
}

TEST_CASE("safetensors: writing tensors does not copy them") {
    const TemporaryFolder folder;
    std::map<std::string, Tensor, std::less<>> tensors;
    tensors["t"] = Tensor({DType::f32, {16 << 20}}); // 64 MiB, assigned because an initializer list would copy it
    const uint64_t before = lamina::peak_memory();
    REQUIRE(before != 0);
    write_safetensors(folder.path() / "w", tensors);
    CHECK(lamina::peak_memory() - before < 32u << 20);
}

TEST_CASE("safetensors: the file stays mapped for as long as a copy lives") {
    const TemporaryFolder folder;
    Weights copy;
    {
        write_safetensors(folder.path() / "w", {{"t", Tensor::of({1}, std::vector<int32_t>{42})}});
        copy = open_safetensors(folder.path() / "w").weights;
    }
    int32_t value = 0;
    std::memcpy(&value, copy.entries().at("t").bytes().data(), sizeof value);
    CHECK(value == 42);
}

TEST_CASE("safetensors: tensors may be in any order and at odd offsets") {
    const TemporaryFolder folder;
    const std::string header = R"({"z": {"dtype": "F16", "shape": [2], "data_offsets": [1, 5]},
        "b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "none": {"dtype": "F32", "shape": [0], "data_offsets": [5, 5]}}   )";
    const Safetensors read = open_safetensors(folder.write("w", file_of(header, 5)));
    CHECK(read.weights.entries().at("z").bytes().size() == 4);
    CHECK(read.weights.entries().at("none").bytes().empty());
}

TEST_CASE("safetensors: tensors of unsupported dtypes are listed separately") {
    const TemporaryFolder folder;
    const std::string header = R"({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
        "b": {"dtype": "F4", "shape": [3, 2], "data_offsets": [8, 11]},
        "c": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [11, 12]}})";
    const Safetensors read = open_safetensors(folder.write("w", file_of(header, 12)));
    CHECK(read.weights.entries().empty());
    std::map<std::string, std::string> dtypes;
    for (const auto &[name, tensor] : read.weights.others()) dtypes[name] = tensor.dtype;
    CHECK(dtypes == std::map<std::string, std::string>{{"a", "F64"}, {"b", "F4"}, {"c", "F8_E4M3"}});
    CHECK(read.weights.others().at("b").shape == Shape{3, 2});
    CHECK(read.weights.others().at("b").stored.size() == 3);
}

TEST_CASE("safetensors: a file without tensors is valid") {
    const TemporaryFolder folder;
    CHECK(open_safetensors(folder.write("w", file_of("{}", 0))).weights.entries().empty());
    CHECK(open_safetensors(folder.write("w", file_of(R"({"__metadata__": {}})", 0))).metadata.empty());
}

TEST_CASE("safetensors: the header's length must be present and plausible") {
    CHECK_THAT(refusal_of(""), contains("w.safetensors: not a safetensors file: 0 bytes"));
    CHECK_THAT(refusal_of("1234567"), contains("7 bytes; expected 8"));
    CHECK_THAT(refusal_of(std::string(8, '\xFF')),
               contains("would be 18446744073709551615 bytes; the limit is 100000000"));
    CHECK_THAT(refusal_of(std::string("\x01\xE1\xF5\x05\0\0\0\0", 8)),
               contains("100000001 bytes; the limit is 100000000"));
    CHECK_THAT(refusal_of(std::string("\x03\0\0\0\0\0\0\0{}", 10)),
               contains("would be 3 bytes; the file has 2 (cut short?)"));
}

TEST_CASE("safetensors: the header must be one JSON object of UTF-8") {
    CHECK_THAT(header_refusal(""), contains("begins with ''; expected '{'"));
    CHECK_THAT(header_refusal("[]"), contains("begins with '['; expected '{'"));
    CHECK_THAT(header_refusal(" {}"), contains("begins with ' '; expected '{'"));
    CHECK_THAT(header_refusal("\xEF\xBB\xBF{}"), contains("expected '{'"));
    CHECK_THAT(header_refusal("{\"\xFF\": 1}"), contains("invalid UTF-8 at offset 2"));
    CHECK_THAT(header_refusal("{"), contains("not JSON"));
    CHECK_THAT(header_refusal("{} x"), contains("not JSON"));
    CHECK_THAT(header_refusal(std::string("{}\0\0", 4)), contains("a zero byte at offset 2"));
}

TEST_CASE("safetensors: names must be unique") {
    const std::string t = R"({"dtype": "F32", "shape": [], "data_offsets": [0, 4]})";
    CHECK_THAT(header_refusal(R"({"t": )" + t + R"(, "t": )" + t + "}", 4), contains("the key 't' appears twice here"));
    CHECK_THAT(header_refusal(R"({"__metadata__": {"k": "1", "k": "2"}})"),
               contains("/__metadata__: the key 'k' appears twice here"));
}

TEST_CASE("safetensors: metadata maps strings to strings") {
    CHECK_THAT(header_refusal(R"({"__metadata__": {"epochs": 65}})"),
               contains("/__metadata__/epochs: expected a string, found 65"));
    CHECK_THAT(header_refusal(R"({"__metadata__": ["x"]})"), contains("/__metadata__: expected an object"));
}

TEST_CASE("safetensors: a tensor needs its dtype, shape and offsets") {
    CHECK_THAT(header_refusal(R"({"t": 3})"), contains("/t: expected an object, found 3"));
    CHECK_THAT(header_refusal(R"({"t": {"shape": [2], "data_offsets": [0, 8]}})", 8),
               contains("/t: the key 'dtype' is missing"));
    CHECK_THAT(header_refusal(R"({"t": {"dtype": "F32", "data_offsets": [0, 8]}})", 8),
               contains("/t: the key 'shape' is missing"));
    CHECK_THAT(header_refusal(R"({"t": {"dtype": "F32", "shape": [2]}})", 8),
               contains("the key 'data_offsets' is missing"));
    CHECK_THAT(header_refusal(R"({"t": {"dtype": "F31", "shape": [2], "data_offsets": [0, 8]}})", 8),
               contains("/t/dtype: the safetensors format has no dtype 'F31'"));
    CHECK_THAT(header_refusal(R"({"t": {"dtype": 32, "shape": [2], "data_offsets": [0, 8]}})", 8),
               contains("/t/dtype: expected a string"));
}

TEST_CASE("safetensors: shapes are lists of sizes whose product fits 64 bits") {
    CHECK(header_refusal(shaped("[2]"), 8).empty());
    CHECK_THAT(header_refusal(shaped("2"), 8), contains("/t/shape: expected a list"));
    CHECK_THAT(header_refusal(shaped("[-2]"), 8), contains("/t/shape/0: expected a whole number from 0"));
    CHECK_THAT(header_refusal(shaped("[2.0]"), 8), contains("/t/shape/0: expected a whole number from 0"));
    CHECK_THAT(header_refusal(shaped("[\"2\"]"), 8), contains("/t/shape/0: expected a whole number from 0"));
    CHECK_THAT(header_refusal(shaped("[4294967296, 4294967296]"), 8), contains("overflows 64 bits"));
    CHECK_THAT(header_refusal(shaped("[4611686018427387905]"), 8),
               contains("overflows 64 bits")); // times 4 it would be 4
    CHECK_THAT(header_refusal(shaped("[4294967296, 4294967296, 0]"), 8), contains("overflows 64 bits"));
    CHECK_THAT(header_refusal(shaped("[18446744073709551616]"), 8), contains("/t/shape/0: expected a whole number"));
}

TEST_CASE("safetensors: a tensor has as many bytes as its shape and dtype say") {
    CHECK_THAT(header_refusal(shaped("[3]"), 8), contains("/t/data_offsets: expected 12 bytes for F32 (3), found 8"));
    CHECK_THAT(header_refusal(shaped("[]"), 8), contains("expected 4 bytes for F32 (), found 8"));
    CHECK_THAT(header_refusal(R"({"t": {"dtype": "F4", "shape": [3], "data_offsets": [0, 1]}})", 1),
               contains("its 12 bits do not fill whole bytes"));
}

TEST_CASE("safetensors: offsets are a begin and an end") {
    CHECK_THAT(header_refusal(placed("[0]"), 8),
               contains("/t/data_offsets: expected [begin, end], found a list with 1 entry"));
    CHECK_THAT(header_refusal(placed("[0, 8, 8]"), 8), contains("expected [begin, end]"));
    CHECK_THAT(header_refusal(placed("[-8, 0]"), 8), contains("/t/data_offsets/0: expected a whole number"));
    CHECK_THAT(header_refusal(placed("[8, 0]"), 8), contains("the end, 0, is before the begin, 8"));
    CHECK_THAT(header_refusal(placed("[9223372036854775800, 9223372036854775808]"), 8),
               contains("/t/data_offsets/1: expected a whole number"));
}

TEST_CASE("safetensors: tensors cover the data without holes, overlaps or a rest") {
    const auto two = [](const std::string &a, const std::string &b) {
        return R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": )" + a +
               R"(}, "b": {"dtype": "U8", "shape": [4], "data_offsets": )" + b + "}}";
    };
    CHECK(header_refusal(two("[0, 4]", "[4, 8]"), 8).empty());
    CHECK(header_refusal(two("[4, 8]", "[0, 4]"), 8).empty());
    CHECK_THAT(header_refusal(two("[0, 4]", "[5, 9]"), 9), contains("tensor 'b' begins at byte 5; expected 4"));
    CHECK_THAT(header_refusal(two("[0, 4]", "[3, 7]"), 7), contains("tensor 'b' begins at byte 3; expected 4"));
    CHECK_THAT(header_refusal(two("[0, 4]", "[0, 4]"), 4), contains("tensor 'b' begins at byte 0; expected 4"));
    CHECK_THAT(header_refusal(two("[1, 5]", "[5, 9]"), 9), contains("tensor 'a' begins at byte 1; expected 0"));
    CHECK_THAT(header_refusal(two("[0, 4]", "[4, 8]"), 9),
               contains("the header describes 8 bytes of data; the file has 9"));
    CHECK_THAT(header_refusal(two("[0, 4]", "[4, 8]"), 7), contains("the file has 7 (cut short?)"));
}

TEST_CASE("safetensors: only ordinary files are mapped") {
    const TemporaryFolder folder;
    CHECK_THAT(message_of([&] { (void)open_safetensors(folder.path()); }), contains("expected an ordinary file"));
    CHECK_THAT(message_of([&] { (void)open_safetensors(folder.path() / "no"); }), contains("no: No such file"));
}

TEST_CASE("safetensors: names that the format cannot hold are not written") {
    const TemporaryFolder folder;
    const auto write = [&](const std::string &name, const std::string &note) {
        write_safetensors(folder.path() / "w", {{name, Tensor({DType::f32, {1}})}}, {{"note", note}});
    };
    CHECK_THAT(message_of([&] { write("__metadata__", ""); }), contains("a tensor cannot be called '__metadata__'"));
    CHECK_THAT(message_of([&] { write("\xFF", ""); }), contains("a tensor cannot be called '\\xff'"));
    CHECK_THAT(message_of([&] { write("t", "\xFF"); }), contains("not valid UTF-8"));
    CHECK(std::filesystem::is_empty(folder.path()));
}
