#include "base/file.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using lamina::FileReader;
using lamina::FileWriter;
using lamina::read_file;
using lamina::write_file;
using matchers::contains;

namespace {
std::string text_of(const std::vector<std::byte> &bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
} // namespace

TEST_CASE("file: what is written is read back, whatever its length") {
    const TemporaryFolder folder;
    for (const size_t length : {0U, 1U, 4095U, 4096U, 4097U, 100000U}) {
        std::string text(length, '\0');
        for (size_t i = 0; i < length; ++i) text[i] = static_cast<char>(i * 31);
        write_file(folder.path() / "f", text);
        CHECK(text_of(read_file(folder.path() / "f")) == text);
    }
    CHECK(folder.entries() == 1); // no temporary is left
}

TEST_CASE("file: read errors give the reason") {
    const TemporaryFolder folder;
    CHECK_THAT(message_of([&] { (void)read_file(folder.path() / "absent"); }), contains("absent: No such file"));
    CHECK_THAT(message_of([&] { (void)read_file(folder.path()); }), contains("is a folder; expected a file"));
    folder.write("eleven", "hello world");
    CHECK(read_file(folder.path() / "eleven", 11).size() == 11);
    CHECK_THAT(message_of([&] { (void)read_file(folder.path() / "eleven", 10); }),
               contains("larger than the limit of 10 bytes"));
}

TEST_CASE("file: a part is read, and then the next one") {
    const TemporaryFolder folder;
    FileReader in(folder.write("f", "headerdata"));
    CHECK(in.rest() == 10);
    CHECK(text_of(in.read(0)).empty());
    CHECK(text_of(in.read(6)) == "header");
    CHECK(in.rest() == 4);
    CHECK(text_of(in.read(UINT64_MAX)) == "data");
    CHECK(in.read(1).empty());
}

TEST_CASE("file: a failed write leaves the old file, and nothing else") {
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "taken");
    CHECK_THAT(message_of([&] { write_file(folder.path() / "taken", "x"); }),
               contains("cannot be written: Is a directory"));
    CHECK_THAT(message_of([&] { write_file(folder.path() / "no" / "file", "x"); }),
               contains("No such file or directory"));
    CHECK(folder.entries() == 1);
}

TEST_CASE("file: pieces become a file when all are written, and nothing when they are not") {
    const TemporaryFolder folder;
    folder.write("f", "old");
    {
        FileWriter out(folder.path() / "f");
        out.write("half");
        CHECK(folder.entries() == 2);
        CHECK(folder.read("f") == "old");
    }
    CHECK(folder.entries() == 1);
    CHECK(folder.read("f") == "old");
    FileWriter out(folder.path() / "f");
    for (const char *piece : {"new", "", " text"}) out.write(std::string_view(piece));
    CHECK(folder.read("f") == "old");
    out.commit();
    CHECK(folder.read("f") == "new text");
    CHECK(folder.entries() == 1);
}
