// GGUF files with one error each, and randomly damaged ones: they are refused with the place, or read.
#include "../unit/model/gguf_file.hpp"
#include "catch.hpp"
#include "model/gguf.hpp"
#include "temporary_folder.hpp"

#include <functional>
#include <random>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

constexpr unsigned seed = 20240613;

template <class T> std::string one(T value) { return GgufFile::number(value); }

GgufFile well_formed() {
    GgufFile file;
    file.metadata("general.architecture", "llama").metadata("llama.block_count", 2);
    file.metadata("tokenizer.ggml.tokens", gguf_list,
                  GgufFile::list(gguf_string, 2, GgufFile::string("<s>") + GgufFile::string("a")));
    file.metadata("tokenizer.ggml.scores", gguf_list, GgufFile::list(gguf_f32, 2, one(0.0F) + one(-1.0F)));
    file.tensor("a", {4, 2}, ggml_f32, std::string(32, '\1')).tensor("b", {32, 1}, ggml_q8_0, std::string(34, '\2'));
    return file;
}

std::string refusal(const std::string &bytes) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.write("m.gguf", bytes);
    std::string message = message_of([&] { (void)open_gguf(path); });
    if (!message.empty()) CHECK_THAT(message, contains(path.string() + ": ")); // says which file
    return message;
}

// The same file with one error.
std::string refusal(const std::function<void(GgufFile &)> &change) {
    GgufFile file = well_formed();
    change(file);
    return refusal(file.bytes());
}

std::string with_value(uint32_t type, const std::string &value) {
    return refusal([&](GgufFile &file) { file.metadata("key", type, value); });
}

std::string with_tensor(const std::vector<uint64_t> &dims, uint32_t type, uint64_t offset) {
    return refusal([&](GgufFile &file) { file.tensor_at("t", dims, type, offset); });
}

std::string with_alignment(uint32_t type, const std::string &value) {
    return refusal([&](GgufFile &file) { file.metadata("general.alignment", type, value); });
}

// Whether it opened; then all of it must be readable.
bool opens(const TemporaryFolder &folder, const std::string &bytes) {
    const auto path = folder.write("m.gguf", bytes);
    try {
        const Gguf gguf = open_gguf(path);
        size_t sum = 0;
        for (const auto &[name, weight] : gguf.weights.entries()) {
            REQUIRE(weight.bytes().size() == weight.type.bytes());
            for (const std::byte b : weight.bytes()) sum += static_cast<size_t>(b);
        }
        for (const auto &[key, value] : gguf.metadata.values()) {
            sum += value.description().size();
            if (value.type() == GgufType::string && value.is_list())
                for (const std::string_view text : value.strings()) sum += text.size();
        }
        CHECK(sum < 1U << 20);
        return true;
    } catch (const Error &e) {
        CHECK(e.code() == ErrorCode::input);
        CHECK_THAT(e.what(), contains(path.string()));
        return false;
    }
}

} // namespace

TEST_CASE("hostile: the GGUF file that the others break opens") { CHECK(refusal(well_formed().bytes()).empty()); }

TEST_CASE("hostile: files that are not GGUF, or of another version, are refused") {
    CHECK_THAT(refusal(std::string()), contains("the first bytes: beyond the end of the file, which has 0 bytes"));
    CHECK_THAT(refusal(std::string("GGU")), contains("the first bytes: beyond the end of the file, which has 3 bytes"));
    CHECK_THAT(refusal(std::string("GGML") + std::string(64, '\0')), contains("it begins with 'GGML'"));
    CHECK_THAT(refusal(std::string("GGUF")),
               contains("version: beyond the end of the file, which has 4 bytes and is cut short"));
    for (const uint32_t version : {0U, 1U, 4U})
        CHECK_THAT(refusal([&](GgufFile &f) { f.version = version; }), contains("expected version 2 or 3 of GGUF"));
    CHECK_THAT(refusal([](GgufFile &f) { f.version = 3U << 24U; }), contains("the file is big-endian"));
}

TEST_CASE("hostile: GGUF counts beyond the size of the file are refused without allocating") {
    for (const uint64_t more : {uint64_t{1} << 20U, uint64_t{1} << 40U, UINT64_MAX - 10}) {
        CHECK_THAT(refusal([&](GgufFile &f) { f.more_tensors = more; }),
                   contains("tensors: beyond the end of the file"));
        CHECK_THAT(refusal([&](GgufFile &f) { f.more_metadata = more; }),
                   contains("metadata: beyond the end of the file"));
    }
    // One more than there are: what follows is misread, or the file ends.
    CHECK_FALSE(refusal([](GgufFile &f) { f.more_tensors = 1; }).empty());
    CHECK_FALSE(refusal([](GgufFile &f) { f.more_metadata = 1; }).empty());
}

TEST_CASE("hostile: GGUF strings end within the file") {
    for (const uint64_t length : {uint64_t{1} << 20U, uint64_t{1} << 63U, UINT64_MAX}) {
        CHECK_THAT(with_value(gguf_string, one(length)),
                   contains("metadata 'key': string: beyond the end of the file"));
        CHECK_THAT(with_value(gguf_list, GgufFile::list(gguf_string, 1, one(length))),
                   contains("string: beyond the end of the file"));
    }
}

TEST_CASE("hostile: GGUF keys and names are UTF-8 and unique") {
    const std::string u32 = one<uint32_t>(1);
    for (const std::string &key : {std::string(), std::string("\xFF"), std::string(65536, 'k')})
        CHECK_THAT(refusal([&](GgufFile &f) { f.metadata(key, gguf_u32, u32); }),
                   contains("metadata 4: key: expected 1 to 65535 bytes of UTF-8"));
    for (const std::string &name : {std::string(), std::string("\xED\xA0\x80"), std::string(257, 't')})
        CHECK_THAT(refusal([&](GgufFile &f) { f.tensor_at(name, {1}, ggml_f32, 0); }),
                   contains("tensor 2: name: expected 1 to 256 bytes of UTF-8"));
    CHECK_THAT(refusal([](GgufFile &f) { f.metadata("llama.block_count", 3); }),
               contains("metadata 'llama.block_count': a second value"));
    CHECK_THAT(refusal([](GgufFile &f) { f.tensor("a", {1}, ggml_f32, "abcd"); }),
               contains("a second tensor is called 'a'"));
}

TEST_CASE("hostile: GGUF values are of types that exist, and lists are not nested") {
    CHECK_THAT(with_value(13, ""), contains("metadata 'key': expected a type from 0 to 12, found 13"));
    CHECK_THAT(with_value(UINT32_MAX, ""), contains("found 4294967295"));
    CHECK_THAT(with_value(gguf_bool, "\2"), contains("expected 0 or 1 for false or true, found 2"));
    CHECK_THAT(with_value(gguf_list, GgufFile::list(gguf_bool, 2, "\1\7")), contains("found 7"));
    CHECK_THAT(with_value(gguf_list, GgufFile::list(gguf_list, 1, GgufFile::list(gguf_u8, 1, "a"))),
               contains("a list of lists"));
    CHECK_THAT(with_value(gguf_list, GgufFile::list(99, 0, "")), contains("expected a type from 0 to 12, found 99"));
}

TEST_CASE("hostile: GGUF lists end within the file") {
    for (const uint64_t count : {uint64_t{1} << 20U, uint64_t{1} << 61U, uint64_t{1} << 63U, UINT64_MAX}) {
        CHECK_THAT(with_value(gguf_list, GgufFile::list(gguf_f64, count, "")),
                   contains("metadata 'key': values: beyond the end of the file"));
        CHECK_THAT(with_value(gguf_list, GgufFile::list(gguf_string, count, "")),
                   contains("strings: beyond the end of the file"));
    }
}

TEST_CASE("hostile: a GGUF alignment is a power of two") {
    for (const uint32_t alignment : {0U, 1U << 31U, UINT32_MAX})
        CHECK_THAT(with_alignment(gguf_u32, one(alignment)),
                   contains("'general.alignment': expected a whole number from 1 to 1073741824"));
    CHECK_THAT(with_alignment(gguf_u32, one(24U)), contains("expected a power of two, found 24"));
    CHECK_THAT(with_alignment(gguf_u64, one(UINT64_MAX)), contains("above"));
    CHECK_THAT(with_alignment(gguf_string, GgufFile::string("32")), contains("expected a whole number, found '32'"));
    CHECK_THAT(with_alignment(gguf_f32, one(32.0F)), contains("expected a whole number, found 32"));
    CHECK_THAT(with_alignment(gguf_u32, one(128U)),
               contains("tensor 'b': expected an offset that is a multiple of 128"));
}

TEST_CASE("hostile: GGUF tensors have shapes that can be counted, in types that exist") {
    constexpr uint64_t huge = uint64_t{1} << 32U;
    CHECK_THAT(with_tensor({1, 1, 1, 1, 1}, ggml_f32, 0), contains("tensor 't': expected at most 4 dims, found 5"));
    CHECK_THAT(with_tensor({UINT64_MAX}, ggml_f32, 0), contains("a dim of 18446744073709551615"));
    CHECK_THAT(with_tensor({uint64_t{1} << 63U}, ggml_f32, 0), contains("a dim of 9223372036854775808"));
    CHECK_THAT(with_tensor({huge, huge}, ggml_f32, 0), contains("overflows 64 bits"));
    CHECK_THAT(with_tensor({huge, huge, 0}, ggml_f32, 0), contains("overflows 64 bits"));
    CHECK_THAT(with_tensor({(uint64_t{1} << 62U) + 1}, ggml_f32, 0),
               contains("overflows 64 bits")); // times 4 this wraps to 4
    CHECK_THAT(with_tensor({INT64_MAX}, ggml_f32, 0), contains("overflows 64 bits"));
    CHECK_THAT(with_tensor({33}, ggml_q8_0, 0), contains("expected rows of a multiple of 32 values"));
    CHECK_THAT(with_tensor({}, ggml_q8_0, 0), contains("expected rows of a multiple of 32 values"));
    CHECK_THAT(with_tensor({128}, ggml_q8_k, 0), contains("expected rows of a multiple of 256 values"));
    for (const uint32_t type : {4U, 5U, 31U, 36U, 1000U, UINT32_MAX}) // removed from the format, or never part of it
        CHECK_THAT(with_tensor({1}, type, 0), contains("unknown GGML type " + std::to_string(type)));
}

TEST_CASE("hostile: GGUF tensors are inside the data, aligned, and do not overlap") {
    CHECK_THAT(with_tensor({1}, ggml_f32, 96 + 1), contains("expected an offset that is a multiple of 32, found 97"));
    CHECK_THAT(with_tensor({1}, ggml_f32, 96), contains("tensor 't': data: beyond the end of the file"));
    CHECK_THAT(with_tensor({1}, ggml_f32, uint64_t{1} << 63U),
               contains("tensor 't': data: beyond the end of the file"));
    CHECK_THAT(with_tensor({1}, ggml_f32, UINT64_MAX - 31), contains("tensor 't': data: beyond the end of the file"));
    CHECK_THAT(with_tensor({uint64_t{1} << 40U}, ggml_f32, 0), contains("data: beyond the end of the file"));
    CHECK_THAT(with_tensor({1}, ggml_f32, 0), contains("begins at offset 0; tensor "));
    CHECK_THAT(with_tensor({1}, ggml_f32, 32), contains("begins at offset 32; tensor "));
    CHECK_THAT(refusal(std::string(well_formed().bytes()).substr(0, well_formed().bytes().size() - 1)),
               contains("data: beyond the end of the file"));
}

TEST_CASE("hostile: no GGUF file that is cut short opens") {
    const TemporaryFolder folder;
    const std::string whole = well_formed().bytes();
    REQUIRE(opens(folder, whole));
    for (size_t length = 0; length < whole.size(); ++length) CHECK_FALSE(opens(folder, whole.substr(0, length)));
}

TEST_CASE("hostile: a damaged GGUF file opens or is refused") {
    const TemporaryFolder folder;
    const std::string whole = well_formed().bytes();
    std::mt19937 random(seed);
    int refused = 0;
    constexpr int times = 3000;
    for (int i = 0; i < times; ++i) {
        CAPTURE(seed, i);
        std::string bytes = whole;
        for (size_t change = 0; change < 1 + random() % 3; ++change) {
            char &byte = bytes[random() % bytes.size()];
            byte = random() % 2 == 0 ? static_cast<char>(random()) : static_cast<char>(byte ^ (1 << random() % 8));
        }
        refused += !opens(folder, bytes);
    }
    CHECK(refused > times / 10); // damage is noticed
    CHECK(refused < times);      // but not everything is refused
}
