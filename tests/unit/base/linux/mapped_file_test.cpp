#include "base/mapped_file.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <thread>

using lamina::expect_whole;
using lamina::MappedFile;
using lamina::mapping_of;
using matchers::contains;

namespace {
constexpr size_t pages = 64, page = 4096;
}

TEST_CASE("mapped file: a file that is cut while it is mapped reads as zeros, and only its own users are told") {
    const TemporaryFolder folder;
    const auto file = folder.write("weights", std::string(pages * page, 'x'));
    const MappedFile cut = MappedFile::open(file), other = MappedFile::open(folder.write("other", "whole"));
    REQUIRE(mapping_of(cut.bytes) != nullptr);
    CHECK_NOTHROW(expect_whole(*mapping_of(cut.bytes)));

    std::filesystem::resize_file(file, 2 * page);
    CHECK(cut.bytes[page] == std::byte{'x'});
    CHECK_NOTHROW(expect_whole(*mapping_of(cut.bytes))); // nothing that is missing was needed yet
    size_t zeros[2] = {};
    std::thread second([&] { zeros[1] = static_cast<size_t>(std::ranges::count(cut.bytes, std::byte{0})); });
    zeros[0] = static_cast<size_t>(std::ranges::count(cut.bytes, std::byte{0}));
    second.join();
    CHECK(zeros[0] == (pages - 2) * page);
    CHECK(zeros[1] == zeros[0]);
    CHECK_THAT(message_of([&] { expect_whole(*mapping_of(cut.bytes.last(1))); }),
               contains("weights: a part of it could not be read while it was in use: the file was cut"));
    CHECK_NOTHROW(expect_whole(*mapping_of(other.bytes)));
}

TEST_CASE("mapped file: a file that is mapped again is whole again") {
    const TemporaryFolder folder;
    const auto file = folder.write("weights", std::string(pages * page, 'x'));
    for (int i = 0; i < 3; ++i) {
        folder.write("weights", std::string(pages * page, 'x'));
        const MappedFile mapped = MappedFile::open(file);
        CHECK_NOTHROW(expect_whole(*mapping_of(mapped.bytes)));
        std::filesystem::resize_file(file, page);
        CHECK(mapped.bytes.back() == std::byte{0});
        CHECK_THROWS(expect_whole(*mapping_of(mapped.bytes)));
    }
}

TEST_CASE("mapped file: ordinary memory is in no mapping") {
    const std::string text = "text";
    CHECK(mapping_of(std::as_bytes(std::span(text))) == nullptr);
}
