#include "model/gguf_parts.hpp"

#include "catch.hpp"
#include "gguf_file.hpp"
#include "temporary_folder.hpp"

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

GgufFile part(uint16_t number, uint16_t count, int32_t tensors = 3) {
    constexpr uint32_t gguf_u16 = 2, gguf_i32 = 5;
    GgufFile file;
    file.metadata("split.no", gguf_u16, GgufFile::number(number));
    file.metadata("split.count", gguf_u16, GgufFile::number(count));
    return file.metadata("split.tensors.count", gguf_i32, GgufFile::number(tensors));
}

// Three parts; the first has no tensors, which llama.cpp's tool can be asked for.
struct Parts {
    TemporaryFolder folder;
    std::filesystem::path first;

    Parts() {
        constexpr uint32_t ggml_i8 = 24; // which no layer takes
        first = write(1, part(0, 3).metadata("key", "value"));
        (void)write(2, part(1, 3).tensor("a", {1}, ggml_f32, "aaaa").tensor("i", {1}, ggml_i8, "i"));
        (void)write(3, part(2, 3).tensor("b", {1}, ggml_f32, "bbbb"));
    }
    [[nodiscard]] std::filesystem::path write(int number, const GgufFile &file) const {
        return folder.write("m-0000" + std::to_string(number) + "-of-00003.gguf", file.bytes());
    }
};

std::string refused(const std::filesystem::path &file) {
    return message_of([&] { (void)open_gguf_in_parts(file); });
}

} // namespace

TEST_CASE("gguf in parts: the first file leads to the tensors of all") {
    const Parts parts;
    const Gguf all = open_gguf_in_parts(parts.first);
    CHECK(all.metadata.at("key").string() == "value");
    REQUIRE(all.weights.entries().size() == 2);
    CHECK(all.weights.at("a").bytes().front() == std::byte{'a'});
    CHECK(all.weights.at("b").bytes().front() == std::byte{'b'});
    CHECK(all.weights.others().contains("i"));
}

TEST_CASE("gguf in parts: a file that is whole needs no others, whatever its name") {
    const TemporaryFolder folder;
    const std::string whole = GgufFile().tensor("a", {1}, ggml_f32, "aaaa").bytes();
    CHECK(open_gguf_in_parts(folder.write("m-00001-of-00003.gguf", whole)).weights.entries().size() == 1);
    const std::string only = part(0, 1, 1).tensor("a", {1}, ggml_f32, "aaaa").bytes();
    CHECK(open_gguf_in_parts(folder.write("m.gguf", only)).weights.entries().size() == 1);
}

TEST_CASE("gguf in parts: what is missing or does not belong is named") {
    const Parts parts;
    const std::filesystem::path folder = parts.first.parent_path();
    CHECK_THAT(refused(folder / "m-00002-of-00003.gguf"),
               contains("part 2 of a model in 3 files; give the first, 'm-00001-of-00003.gguf'"));
    std::filesystem::copy_file(parts.first, folder / "renamed.gguf");
    CHECK_THAT(refused(folder / "renamed.gguf"), contains("expected a name that ends with -00001-of-00003.gguf"));

    SECTION("a part that is not there") {
        std::filesystem::remove(folder / "m-00003-of-00003.gguf");
        CHECK_THAT(refused(parts.first), contains("m-00003-of-00003.gguf: no such file; the model has 3 parts"));
    }
    SECTION("another part by that name") {
        (void)parts.write(3, part(1, 3));
        CHECK_THAT(refused(parts.first), contains("m-00003-of-00003.gguf: expected part 3 of 3, found 2 of 3"));
    }
    SECTION("a part of another model, in as many files") {
        (void)parts.write(3, part(2, 3).tensor("c", {1}, ggml_f32, "cccc").tensor("d", {1}, ggml_f32, "dddd"));
        CHECK_THAT(refused(parts.first), contains("expected 3 tensors in all parts, found 4"));
    }
    SECTION("a tensor that an earlier part has") {
        (void)parts.write(3, part(2, 3).tensor("a", {1}, ggml_f32, "aaaa"));
        CHECK_THAT(refused(parts.first), contains("a second tensor is called 'a'"));
    }
    SECTION("a whole model") {
        (void)parts.write(3, GgufFile().tensor("b", {1}, ggml_f32, "bbbb"));
        CHECK_THAT(refused(parts.first), contains("m-00003-of-00003.gguf: the metadata has no key 'split.no'"));
    }
    SECTION("a number beyond the parts") {
        (void)parts.write(1, part(3, 3));
        CHECK_THAT(refused(parts.first), contains("metadata 'split.no': expected a part below 3, found 3"));
    }
}
