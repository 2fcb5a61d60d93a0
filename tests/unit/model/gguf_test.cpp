#include "model/gguf.hpp"

#include "catch.hpp"
#include "gguf_file.hpp"
#include "model/gguf_tokenizer.hpp"
#include "temporary_folder.hpp"

#include <limits>
#include <span>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

Gguf opened(const GgufFile &file) {
    const TemporaryFolder folder; // deleted when this returns; the mapping stays
    return open_gguf(folder.write("m.gguf", file.bytes()));
}

template <class T> std::string one(T value) { return GgufFile::number(value); }

} // namespace

TEST_CASE("gguf: tensors have row-major shapes, their bytes, and the dtypes that layers take") {
    GgufFile file;
    file.tensor("f", {3, 2}, ggml_f32, std::string(24, '\1'));
    file.tensor("h", {5}, ggml_f16, std::string(10, '\2'));
    file.tensor("b", {1, 2, 1, 3}, ggml_bf16, std::string(12, '\3'));
    file.tensor("i", {}, ggml_i32, std::string(4, '\4'));
    file.tensor("q", {64, 3}, ggml_q8_0, std::string(204, '\5'));
    file.tensor("none", {0}, ggml_f32, "");
    const Gguf gguf = opened(file);
    const auto &entries = gguf.weights.entries();
    REQUIRE(entries.size() == 6);
    CHECK(entries.at("f").type == TensorType{DType::f32, {2, 3}});
    CHECK(entries.at("h").type == TensorType{DType::f16, {5}});
    CHECK(entries.at("b").type == TensorType{DType::bf16, {3, 1, 2, 1}});
    CHECK(entries.at("i").type == TensorType{DType::i32, {}});
    CHECK(entries.at("q").type == TensorType{DType::q8_0, {3, 64}});
    for (const auto &[name, weight] : entries) {
        CAPTURE(name);
        CHECK(weight.bytes().size() == weight.type.bytes());
    }
    CHECK(entries.at("b").bytes().front() == std::byte{3});
    CHECK(entries.at("q").bytes().back() == std::byte{5});
}

TEST_CASE("gguf: tensors of unsupported types are listed separately") {
    GgufFile file;
    file.tensor("q", {256}, ggml_q8_k, std::string(292, '\0'));
    const Gguf gguf = opened(file);
    CHECK(gguf.weights.entries().empty());
    CHECK(gguf.weights.others().at("q").dtype == "Q8_K");
    CHECK_THAT(message_of([&] { (void)gguf.weights.at("q"); }), contains("tensor 'q' is Q8_K; expected f32, f16"));
}

TEST_CASE("gguf: tensors by codebooks have the dtype that they become") {
    constexpr uint32_t iq3_s = 21, tq2_0 = 35;
    GgufFile file;
    file.tensor("i", {512, 3}, iq3_s, std::string(6 * size_t{110}, '\5'));
    file.tensor("t", {256}, tq2_0, std::string(66, '\0'));
    const Gguf gguf = opened(file);
    const Weight &numbers = gguf.weights.at("i"), &ternary = gguf.weights.at("t");
    CHECK(numbers.type == TensorType{DType::i4_k, {3, 512}});
    CHECK(numbers.bytes_to_copy() == 6 * size_t{140}); // not made before it is read
    CHECK(numbers.bytes().size() == 6 * size_t{140});
    CHECK(ternary.type == TensorType{DType::q2_k, {256}});
}

TEST_CASE("gguf: tensors of one bit or two are q4_0 of the same values") {
    constexpr uint32_t q1_0 = 41, q2_0 = 42;
    const std::string half("\x00\x38", 2); // 0.5
    GgufFile file;
    file.tensor("one", {128, 2}, q1_0, half + std::string(15, '\xAA') + '\x0F' + half + std::string(16, '\0'));
    file.tensor("two", {64}, q2_0, half + std::string(15, '\xE4') + '\x1B'); // 0, 1, 2, 3, ..., 3, 2, 1, 0
    const Gguf gguf = opened(file);
    const auto values_of = [&](const char *name, int64_t count) {
        const Weight &weight = gguf.weights.at(name);
        CHECK(weight.type.dtype == DType::q4_0);
        std::vector<float> out(static_cast<size_t>(count));
        storage_of(DType::q4_0).widen(weight.bytes().data(), count / 32, out.data());
        return out;
    };
    const std::vector<float> one = values_of("one", 256), two = values_of("two", 64);
    for (size_t i = 0; i < 256; ++i) {
        const bool set = i < 120 ? i % 2 == 1 : i < 124;
        CHECK(one[i] == (set ? 0.5F : -0.5F));
    }
    for (size_t i = 0; i < 64; ++i) {
        const size_t number = i < 60 ? i % 4 : 3 - i % 4;
        CHECK(two[i] == 0.5F * (static_cast<float>(number) - 1));
    }
}

TEST_CASE("gguf: metadata values have types, and integers ranges") {
    GgufFile file;
    file.metadata("u8", 0, one<uint8_t>(200)).metadata("i8", 1, one<int8_t>(-100));
    file.metadata("u16", 2, one<uint16_t>(60000)).metadata("i16", 3, one<int16_t>(-30000));
    file.metadata("u32", 4000000000U).metadata("i32", 5, one<int32_t>(-2000000000));
    file.metadata("f32", gguf_f32, one(0.5F)).metadata("yes", gguf_bool, one<uint8_t>(1));
    file.metadata("text", "caf\xC3\xA9");
    file.metadata("u64", gguf_u64, one(std::numeric_limits<uint64_t>::max()));
    file.metadata("i64", 11, one<int64_t>(-5)).metadata("f64", gguf_f64, one(1e300));
    const Gguf gguf = opened(file);
    const auto integer = [&](const char *key) { return gguf.metadata.at(key).integer(); };
    CHECK(integer("u8") == 200);
    CHECK(integer("i8") == -100);
    CHECK(integer("u16") == 60000);
    CHECK(integer("i16") == -30000);
    CHECK(integer("u32") == 4000000000);
    CHECK(integer("i32") == -2000000000);
    CHECK(integer("i64") == -5);
    CHECK(gguf.metadata.at("f32").number() == 0.5);
    CHECK(gguf.metadata.at("f64").number() == 1e300);
    CHECK(gguf.metadata.at("i8").number() == -100);
    CHECK(gguf.metadata.at("yes").boolean());
    CHECK(gguf.metadata.at("text").string() == "caf\xC3\xA9");
    CHECK_THAT(message_of([&] { (void)integer("u64"); }), contains("18446744073709551615 is above"));
    CHECK_THAT(message_of([&] { (void)gguf.metadata.at("u8").integer(0, 100); }),
               contains("m.gguf: metadata 'u8': expected a whole number from 0 to 100, found 200"));
}

TEST_CASE("gguf: lists are typed, and their strings stay in the file") {
    GgufFile file;
    file.metadata(
        "tokens", gguf_list,
        GgufFile::list(gguf_string, 3,
                       GgufFile::string("<s>") + GgufFile::string("") + GgufFile::string(std::string(1, '\0'))));
    file.metadata("scores", gguf_list, GgufFile::list(gguf_f32, 2, one(1.5F) + one(-2.0F)));
    file.metadata("types", gguf_list, GgufFile::list(gguf_u8, 2, "\1\3"));
    file.metadata("flags", gguf_list, GgufFile::list(gguf_bool, 2, std::string("\0\1", 2)));
    file.metadata("none", gguf_list, GgufFile::list(gguf_string, 0, ""));
    const Gguf gguf = opened(file);
    const auto tokens = gguf.metadata.at("tokens").strings();
    REQUIRE(tokens.size() == 3);
    CHECK(tokens[0] == "<s>");
    CHECK(tokens[1].empty());
    CHECK(tokens[2].size() == 1);
    CHECK(gguf.metadata.at("scores").numbers() == std::vector<double>{1.5, -2});
    CHECK(gguf.metadata.at("types").integers() == std::vector<int64_t>{1, 3});
    CHECK(gguf.metadata.at("types").numbers() == std::vector<double>{1, 3});
    CHECK(gguf.metadata.at("flags").booleans() == std::vector<bool>{false, true});
    CHECK(gguf.metadata.at("none").strings().empty());
}

TEST_CASE("gguf: a key that is missing or of the wrong type is an error that says what was found") {
    GgufFile file;
    file.metadata("llama.block_count", 30).metadata("name", "x").metadata("no", gguf_bool, one<uint8_t>(0));
    file.metadata("tokens", gguf_list, GgufFile::list(gguf_string, 1, GgufFile::string("a")));
    const Gguf gguf = opened(file);
    const auto at = [&](const char *key) -> const GgufValue & { return gguf.metadata.at(key); };
    CHECK_FALSE(gguf.metadata.has("llama.block_counts"));
    CHECK_THAT(message_of([&] { (void)at("llama.block_counts"); }),
               contains("the metadata has no key 'llama.block_counts'; did you mean 'llama.block_count'?"));
    CHECK_THAT(message_of([&] { (void)at("name").integer(); }), contains("expected a whole number, found 'x'"));
    CHECK_THAT(message_of([&] { (void)at("no").number(); }), contains("expected a number, found false"));
    CHECK_THAT(message_of([&] { (void)at("llama.block_count").string(); }),
               contains("expected a string, found 30 (u32)"));
    CHECK_THAT(message_of([&] { (void)at("llama.block_count").boolean(); }), contains("expected true or false"));
    CHECK_THAT(message_of([&] { (void)at("tokens").string(); }), contains("found a list of 1 string"));
    CHECK_THAT(message_of([&] { (void)at("tokens").integers(); }), contains("expected a list of whole numbers"));
    CHECK_THAT(message_of([&] { (void)at("name").strings(); }), contains("expected a list of strings, found 'x'"));
}

TEST_CASE("gguf: version 2 is read as version 3, and the file may set its alignment") {
    for (const uint32_t version : {2U, 3U}) {
        GgufFile file;
        file.version = version;
        file.alignment = 64;
        file.metadata("general.alignment", 64);
        file.tensor("a", {1}, ggml_f32, "abcd").tensor("b", {1}, ggml_f32, "efgh");
        CHECK(opened(file).weights.entries().at("b").bytes().front() == std::byte{'e'});
    }
}

TEST_CASE("gguf: a file of the metadata alone has the same tokenizer") {
    constexpr uint32_t array = 9, text = 8;
    std::string tokens;
    for (const char *token : {"a", "b", "ab", "</s>"}) tokens += GgufFile::string(token);
    GgufFile file;
    file.metadata("tokenizer.ggml.model", "gpt2").metadata("tokenizer.ggml.pre", "gpt-2");
    file.metadata("tokenizer.ggml.tokens", array, GgufFile::list(text, 4, tokens));
    file.metadata("tokenizer.ggml.merges", array, GgufFile::list(text, 1, GgufFile::string("a b")));
    file.tensor("w", {2}, ggml_f32, std::string(8, '\1'));
    const Gguf whole = opened(file);
    const std::string bytes = metadata_file(whole);
    const Gguf alone = parse_gguf(std::as_bytes(std::span(bytes)), nullptr, "alone.gguf");
    CHECK(alone.weights.entries().empty());
    CHECK(alone.metadata.values().size() == 4);
    CHECK(tokenizer_of(alone.metadata)->encode("abba").ids == std::vector<int32_t>{2, 1, 0});
    CHECK(tokenizer_of(whole.metadata)->encode("abba").ids == std::vector<int32_t>{2, 1, 0});
    CHECK_FALSE(tokenizer_of(opened(GgufFile().metadata("general.name", "none")).metadata).has_value());

    GgufFile other;
    other.metadata("tokenizer.ggml.model", "plamo2")
        .metadata("tokenizer.ggml.tokens", array, GgufFile::list(text, 4, tokens));
    const Gguf wrong = opened(other);
    CHECK_FALSE(wrong.metadata.file().empty());
    CHECK_THROWS_WITH(tokenizer_of(wrong.metadata),
                      matchers::contains(wrong.metadata.file() + ": tokenizer.ggml.model: 'plamo2' is not supported"));
}
